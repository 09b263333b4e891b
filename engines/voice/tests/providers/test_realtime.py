"""Realtime models: what a session is asked to be, and what becomes of one that is lost."""

from typing import Any

import pytest
from pipecat.frames.frames import (
    LLMContextFrame,
    LLMTextFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    UserStoppedSpeakingFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext

from switchboard_engine.providers import ProviderServices
from switchboard_engine.providers.failover import ATTEMPTS

from .catalogue import entry
from .fakes import Behaviour, FakeRealtime
from .rig import Rig, sound, until

GPT = entry("multimodal_models", "gpt-realtime")
CEDAR = entry("voices", "openai-realtime-cedar")
TIMEOUTS = {"SWITCHBOARD_ENGINE_TIMEOUT_REALTIME": "0.7", "SWITCHBOARD_ENGINE_TIMEOUT_CONNECT": "0.7"}


def at(fake: FakeRealtime, keys: dict[str, str]) -> ProviderServices:
    return ProviderServices({**keys, **TIMEOUTS, "OPENAI_REALTIME_BASE_URL": f"{fake.http}/v1"})


def session(fake: FakeRealtime) -> dict[str, Any]:
    """Return what the session was asked to be."""
    updates: list[dict[str, Any]] = [
        one["session"] for one in fake.requests[0].messages if one["type"] == "session.update"
    ]
    return updates[0]


async def test_a_multimodal_model_speaks_in_its_voice(keys: dict[str, str]) -> None:
    options = {"mode": "multimodal", "speech_speed": "1.10", "turn_detection_threshold": "0.6"}
    async with FakeRealtime() as fake:
        model = at(fake, keys).realtime(GPT, voice=CEDAR, language="de-CH", options=options, prompt="Be brief.")
        async with Rig(model) as rig:
            await rig.ask()
            await rig.comes(TTSStoppedFrame)
            assert sum(len(frame.audio) for frame in rig.of(TTSAudioRawFrame)) == 11 * 4_800
            await rig.give(*map(sound, range(50)))
            await until(lambda: any("audio" in one for one in fake.requests[0].messages))
        asked = session(fake)
        assert fake.requests[0].query == {"model": ["gpt-realtime"]}
        assert fake.requests[0].headers["Authorization"] == "Bearer openai_api_key-of-nobody"
        assert asked["output_modalities"] == ["audio"]
        assert asked["instructions"] == "Be brief."
        assert {"voice": "cedar", "speed": 1.1}.items() <= asked["audio"]["output"].items()
        assert asked["audio"]["input"]["turn_detection"]["threshold"] == 0.6
        assert asked["audio"]["input"]["transcription"] == {"model": "gpt-4o-transcribe", "language": "de"}
        assert asked["audio"]["input"]["noise_reduction"] == {"type": "near_field"}


async def test_a_dualplex_model_writes(keys: dict[str, str]) -> None:
    voice = entry("voices", "elevenlabs-rachel")
    options = {"mode": "dualplex", "enable_noise_cancellation": False}
    async with FakeRealtime() as fake:
        model = at(fake, keys).realtime(GPT, voice=voice, language="en-US", options=options)
        async with Rig(model) as rig:
            await rig.ask()
            assert [frame.text for frame in await rig.comes(LLMTextFrame)] == ["Good morning."]
            assert rig.of(TTSAudioRawFrame) == []
        asked = session(fake)
        assert asked["output_modalities"] == ["text"]
        assert "voice" not in asked["audio"].get("output", {})
        assert "noise_reduction" not in asked["audio"]["input"]


@pytest.mark.parametrize(
    "behaviour",
    [
        Behaviour.SILENT,
        Behaviour.REFUSES,
        *(
            pytest.param(one, marks=pytest.mark.long)
            for one in (Behaviour.UNREACHABLE, Behaviour.BREAKS_OFF, Behaviour.GARBAGE, Behaviour.BUSY)
        ),
    ],
)
async def test_a_session_that_fails_is_begun_anew_and_then_given_up(behaviour: Behaviour, keys: dict[str, str]) -> None:
    async with FakeRealtime() as fake:
        fake.behaviour = behaviour
        model = at(fake, keys).realtime(GPT, voice=CEDAR, language="en-US", options={"mode": "multimodal"})
        async with Rig(model) as rig:
            await rig.ask()
            error = await rig.fails()
            assert error.error.startswith("The realtime model is lost. openai gpt-realtime: ")
            assert not model.is_usable
            tries = 1 if behaviour is Behaviour.REFUSES else ATTEMPTS
            assert len(fake.requests) == tries
            assert not any(key in error.error for key in keys.values())


async def test_a_session_that_falls_silent_after_speech_is_begun_anew_with_the_conversation(
    keys: dict[str, str],
) -> None:
    async with FakeRealtime() as fake:
        model = at(fake, keys).realtime(GPT, voice=CEDAR, language="en-US", options={"mode": "multimodal"})
        async with Rig(model) as rig:
            await rig.ask({"role": "user", "content": "Hello."})
            await rig.comes(TTSStoppedFrame)
            heard: Any = [{"role": "user", "content": "Hello."}, {"role": "user", "content": "When do you open?"}]
            await rig.give(LLMContextFrame(LLMContext(messages=heard)))
            fake.behaviour = Behaviour.SILENT
            await rig.give(UserStoppedSpeakingFrame())
            await fake.asked(lambda _: len(fake.requests) == 2)
            fake.behaviour = Behaviour.WELL
            await rig.comes(TTSStartedFrame, 2)
            assert rig.errors == []
    told = [one["item"] for one in fake.requests[-1].messages if one["type"] == "conversation.item.create"]
    assert "When do you open?" in str(told)


async def test_ultravox_is_told_the_prompt_and_the_functions_at_the_start(services: ProviderServices) -> None:
    options = {
        "mode": "multimodal",
        "llm_temperature": "0.30",
        "prompt": "Be brief.",
        "functions": [
            {
                "name": "look_up",
                "description": "Looks up.",
                "parameters": {"properties": {"day": {"type": "string"}}, "required": ["day"]},
            },
            {"name": "end_call"},
        ],
    }
    model = services.realtime(
        entry("multimodal_models", "ultravox-v0-7"), voice=None, language="de-CH", options=options
    )
    made: Any = model.service
    asked = made._params
    assert (asked.model, asked.system_prompt, asked.temperature) == ("ultravox-v0.7", "Be brief.", 0.3)
    assert asked.extra == {"languageHint": "de-CH"}
    tools = made._to_selected_tools(made._selected_tools)
    assert [tool["temporaryTool"]["modelToolName"] for tool in tools] == ["look_up", "end_call"]
    assert tools[0]["temporaryTool"]["dynamicParameters"][0]["required"] is True


async def test_gemini_has_its_voice_language_and_sensitivity(services: ProviderServices) -> None:
    live = entry("multimodal_models", "gemini-2-5-flash-live")
    options = {"mode": "dualplex", "turn_detection_threshold": 0.8, "llm_temperature": "0.40"}
    made: Any = services.realtime(
        live, voice=entry("voices", "gemini-live-puck"), language="fr-CA", options=options
    ).service
    settings = made.settings
    assert (settings.voice, settings.language, settings.modalities.value) == ("Puck", "fr-CA", "TEXT")
    assert settings.temperature == 0.4
    assert settings.vad.start_sensitivity.name == "START_SENSITIVITY_LOW"
