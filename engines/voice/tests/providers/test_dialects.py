"""What vendors are asked, and what becomes of their answers, with everything well."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.frames.frames import (
    FunctionCallResultFrame,
    LLMFullResponseEndFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSTextFrame,
    TTSUpdateSettingsFrame,
)
from pipecat.services.llm_service import FunctionCallParams
from pipecat.services.settings import TTSSettings

from switchboard_engine.providers import ProviderServices

from .catalogue import entry
from .fakes import (
    FakeAnthropic,
    FakeAssemblyAI,
    FakeCartesia,
    FakeDeepgram,
    FakeElevenLabs,
    FakeGemini,
    FakeGladia,
    FakeOpenAI,
    FakeSoniox,
    FakeVendor,
)
from .rig import Rig

OPTIONS = {"speech_speed": "1.10", "voice_stability": "0.30", "voice_similarity": "0.90", "tts_emotion_enabled": False}


@pytest.fixture
async def vendors() -> AsyncIterator[dict[str, FakeVendor]]:
    """Run a fake of every vendor, and put their addresses into the environment."""
    async with (
        FakeOpenAI() as openai,
        FakeDeepgram() as deepgram,
        FakeElevenLabs() as eleven,
        FakeCartesia() as cartesia,
    ):
        yield {"openai": openai, "deepgram": deepgram, "elevenlabs": eleven, "cartesia": cartesia}


@pytest.fixture
def loopback(vendors: dict[str, FakeVendor], keys: dict[str, str]) -> ProviderServices:
    """Return services that know only the fakes."""
    return ProviderServices(
        {
            **keys,
            "OPENAI_BASE_URL": f"{vendors['openai'].http}/v1",
            "GROQ_BASE_URL": f"{vendors['openai'].http}/v1",
            "QWEN_BASE_URL": f"{vendors['openai'].http}/v1",
            "COHERE_BASE_URL": f"{vendors['openai'].http}/v1",
            **{f"{name.upper()}_BASE_URL": vendors[name].ws for name in ("deepgram", "elevenlabs", "cartesia")},
        }
    )


MODELS: list[tuple[str, dict[str, Any], set[str]]] = [
    ("gpt-4.1", {"model": "gpt-4.1", "temperature": 0.3}, {"reasoning_effort"}),
    ("gpt-5-mini", {"model": "gpt-5-mini", "reasoning_effort": "minimal"}, {"temperature"}),
    ("gpt-oss-120b", {"model": "openai/gpt-oss-120b", "reasoning_effort": "low", "temperature": 0.3}, set()),
    ("qwen3-235b-a22b", {"model": "qwen3-235b-a22b", "enable_thinking": False}, set()),
    ("command-a", {"model": "command-a-03-2025", "temperature": 0.3}, {"stream_options"}),
]


@pytest.mark.parametrize(("code", "has", "lacks"), MODELS, ids=[code for code, *_ in MODELS])
async def test_chat_models_are_asked_by_their_id(
    code: str, has: dict[str, Any], lacks: set[str], loopback: ProviderServices, vendors: dict[str, FakeVendor]
) -> None:
    async with Rig(loopback.llm(entry("llm_models", code), temperature=0.3, prompt="Be brief.")) as rig:
        await rig.ask()
        await rig.comes(LLMFullResponseEndFrame)
        assert "".join(frame.text for frame in rig.of(LLMTextFrame)) == "We open at nine."
    asked = vendors["openai"].requests[0]
    assert has.items() <= asked.messages[0].items()
    assert asked.messages[0]["messages"][0] == {"role": "system", "content": "Be brief."}
    assert lacks.isdisjoint(asked.messages[0])
    assert asked.headers["Authorization"].endswith("_api_key-of-nobody")


async def test_a_model_calls_a_function_that_was_registered(keys: dict[str, str]) -> None:
    async def look_up(params: FunctionCallParams) -> None:
        await params.result_callback({"hours": f"nine, {params.arguments['day']}"})

    schema = FunctionSchema("look_up", "Looks up.", {"day": {"type": "string"}}, ["day"])
    async with FakeOpenAI(function=("look_up", {"day": "Monday"})) as openai:
        model = ProviderServices({**keys, "OPENAI_BASE_URL": openai.url}).llm(entry("llm_models", "gpt-4.1"))
        model.register_function("look_up", look_up)
        async with Rig(model) as rig:
            await rig.ask(tools=ToolsSchema(standard_tools=[schema]))
            result = (await rig.comes(FunctionCallResultFrame))[0]
        assert openai.requests[0].messages[0]["tools"][0]["function"]["name"] == "look_up"
    assert result.result == {"hours": "nine, Monday"}


HEARING: list[tuple[list[str], dict[str, list[str]]]] = [
    (["en-GB"], {"language": ["en-GB"]}),
    (["de-DE"], {"language": ["de"]}),
    (["es-MX"], {"language": ["es-419"]}),
    (["nb-NO"], {"language": ["no"]}),
    (["fil-PH"], {"language": ["tl"]}),
    (["de-CH", "en-US", "fr-FR"], {"language": ["multi"], "language_hint": ["de-CH", "en-US", "fr"]}),
]


@pytest.mark.parametrize(("tags", "asked"), HEARING, ids=[" ".join(tags) for tags, _ in HEARING])
async def test_deepgram_hears_the_languages(
    tags: list[str], asked: dict[str, list[str]], loopback: ProviderServices, vendors: dict[str, FakeVendor]
) -> None:
    async with Rig(loopback.stt(entry("transcriber_providers", "deepgram"), languages=tags)) as rig:
        await rig.speak()
        heard = await rig.comes(TranscriptionFrame)
    request = vendors["deepgram"].requests[0]
    assert [frame.text for frame in heard] == ["When do you open?"]
    assert {"model": ["nova-3"], "sample_rate": ["16000"], **asked}.items() <= request.query.items()
    assert len(request.sound) == 70 * 640
    assert request.headers["Authorization"] == "Token deepgram_api_key-of-nobody"


async def heard(services: ProviderServices, code: str) -> list[str]:
    """Have two languages heard; returns the words."""
    async with Rig(services.stt(entry("transcriber_providers", code), languages=["en-US", "nb-NO"])) as rig:
        await rig.speak()
        words = [frame.text for frame in await rig.comes(TranscriptionFrame)]
        assert rig.errors == []
    return words


async def test_assemblyai_finds_out_the_language(keys: dict[str, str]) -> None:
    async with FakeAssemblyAI() as fake:
        services = ProviderServices({**keys, "ASSEMBLYAI_BASE_URL": f"{fake.ws}/v3/ws"})
        assert await heard(services, "assemblyai") == ["When do you open?"]
        asked = fake.requests[0]
    assert asked.query["speech_model"] == ["universal-streaming-multilingual"]
    assert asked.query["language_detection"] == ["true"]
    assert asked.query["sample_rate"] == ["16000"]
    assert asked.headers["Authorization"] == "assemblyai_api_key-of-nobody"


async def test_gladia_switches_between_the_languages(keys: dict[str, str]) -> None:
    async with FakeGladia() as fake:
        services = ProviderServices({**keys, "GLADIA_BASE_URL": f"{fake.http}/v2/live"})
        assert await heard(services, "gladia") == ["When do you open?"]
        asked = fake.requests[0]
    assert asked.messages[0]["model"] == "solaria-1"
    assert asked.messages[0]["language_config"] == {"languages": ["en", "no"], "code_switching": True}
    assert asked.headers["X-Gladia-Key"] == "gladia_api_key-of-nobody"


async def test_soniox_has_hints_of_the_languages(keys: dict[str, str]) -> None:
    async with FakeSoniox() as fake:
        services = ProviderServices({**keys, "SONIOX_BASE_URL": f"{fake.ws}/transcribe-websocket"})
        assert await heard(services, "soniox") == ["When do you open?"]
        asked = fake.requests[0].messages[0]
    assert (asked["model"], sorted(asked["language_hints"])) == ("stt-rt-v5", ["en", "no"])
    assert asked["enable_language_identification"] is True


async def answer(services: ProviderServices, code: str) -> str:
    """Ask a language model, with temperature and prompt; returns its answer."""
    async with Rig(services.llm(entry("llm_models", code), temperature=0.3, prompt="Be brief.")) as rig:
        await rig.ask()
        await rig.comes(LLMFullResponseEndFrame)
        return "".join(frame.text for frame in rig.of(LLMTextFrame))


@pytest.mark.filterwarnings("ignore:The model 'claude-sonnet-4-5-20250929' is deprecated:DeprecationWarning")
async def test_anthropic_is_asked_by_its_id(keys: dict[str, str]) -> None:
    async with FakeAnthropic() as fake:
        services = ProviderServices({**keys, "ANTHROPIC_BASE_URL": fake.http})
        assert await answer(services, "claude-sonnet-4.5") == "We open at nine."
        asked = fake.requests[0].messages[0]
    assert (asked["model"], asked["temperature"]) == ("claude-sonnet-4-5-20250929", 0.3)
    assert "Be brief." in str(asked["system"])


async def test_gemini_is_asked_by_its_id(keys: dict[str, str]) -> None:
    async with FakeGemini() as fake:
        services = ProviderServices({**keys, "GOOGLE_BASE_URL": fake.http})
        assert await answer(services, "gemini-2.5-flash") == "We open at nine."
        asked = fake.requests[0]
    assert asked.path == "/v1beta/models/gemini-2.5-flash:streamGenerateContent"
    assert asked.messages[0]["generationConfig"]["temperature"] == 0.3
    assert "Be brief." in str(asked.messages[0]["systemInstruction"])


async def test_a_transcription_server_of_ones_own_gets_whole_utterances(keys: dict[str, str]) -> None:
    async with FakeOpenAI("Good morning.") as own:
        engine = {"vendor": "openai", "model": "whisper-1", "url": own.url}
        transcriber = ProviderServices(keys).stt({"name": "Ours", "engine": engine}, languages=["de-AT"])
        async with Rig(transcriber) as rig:
            await rig.speak()
            heard = await rig.comes(TranscriptionFrame)
    assert [frame.text for frame in heard] == ["Good morning."]
    assert own.requests[0].headers["Authorization"] == "Bearer none"
    assert {"model": "whisper-1", "language": "de"}.items() <= own.requests[0].messages[0].items()


async def spoken(
    services: ProviderServices, provider: str, voice: dict[str, Any], tag: str, options: dict[str, Any]
) -> str:
    """Have an answer spoken; returns the words that came with the sound."""
    synthesizer = services.tts(entry("synthesizer_providers", provider), voice, language=tag, options=options)
    async with Rig(synthesizer) as rig:
        await rig.answer("We open ", "at nine. ", "Come early.")
        await rig.comes(LLMFullResponseEndFrame)
        assert sum(len(frame.audio) for frame in rig.of(TTSAudioRawFrame)) == 21 * 4_800
        assert {frame.sample_rate for frame in rig.of(TTSAudioRawFrame)} == {24_000}
        assert rig.errors == []
        return " ".join(frame.text for frame in rig.of(TTSTextFrame))


async def test_elevenlabs_speaks_with_the_voices_settings(
    loopback: ProviderServices, vendors: dict[str, FakeVendor]
) -> None:
    voice = entry("voices", "elevenlabs-rachel")
    assert await spoken(loopback, "elevenlabs", voice, "de-DE", OPTIONS) == "We open at nine. Come early."
    request = vendors["elevenlabs"].requests[0]
    assert request.path == "/v1/text-to-speech/21m00Tcm4TlvDq8ikWAM/multi-stream-input"
    assert {"model_id": ["eleven_flash_v2_5"], "language_code": ["de"]}.items() <= request.query.items()
    assert request.query["output_format"] == ["pcm_24000"]
    assert request.messages[0]["voice_settings"] == {
        "stability": 0.3, "similarity_boost": 0.9, "style": 0.0, "speed": 1.1,
    }  # fmt: skip
    assert request.headers["xi-api-key"] == "elevenlabs_api_key-of-nobody"


async def test_cartesia_speaks_with_the_voices_settings(
    loopback: ProviderServices, vendors: dict[str, FakeVendor]
) -> None:
    voice = entry("voices", "cartesia-katie")
    assert await spoken(loopback, "cartesia", voice, "en-GB", OPTIONS) == "We open at nine. Come early."
    asked = vendors["cartesia"].requests[0].messages[0]
    assert (asked["model_id"], asked["voice"]["id"]) == ("sonic-3", voice["engine"]["voice_id"])
    assert (asked["language"], asked["output_format"]["sample_rate"]) == ("en", 24_000)
    assert asked["generation_config"] == {"speed": 1.1, "emotion": "neutral"}


async def test_aura_speaks_faster_only_where_it_can(loopback: ProviderServices, vendors: dict[str, FakeVendor]) -> None:
    for voice_id, speed in (("aura-2-thalia-en", ["1.1"]), ("aura-2-izanami-ja", None)):
        voice = {"name": "V", "engine": {"vendor": "deepgram", "voice_id": voice_id}}
        assert await spoken(loopback, "deepgram-aura", voice, "en-US", OPTIONS) == "We open at nine. Come early."
        query = vendors["deepgram"].requests[-1].query
        assert (query["model"], query["sample_rate"], query.get("speed")) == ([voice_id], ["24000"], speed)


async def test_openai_speaks_in_an_even_tone_if_told_so(
    loopback: ProviderServices, vendors: dict[str, FakeVendor]
) -> None:
    voice = entry("voices", "openai-alloy")
    assert await spoken(loopback, "openai-tts", voice, "en-US", OPTIONS) == "We open at nine. Come early."
    asked = vendors["openai"].requests[0].messages[0]
    assert asked["input"] == "We open at nine."
    assert asked["instructions"].startswith("Speak in an even, neutral tone")
    assert (asked["model"], asked["voice"], "speed" in asked) == ("gpt-4o-mini-tts", "alloy", False)


async def test_a_speech_server_of_ones_own_has_voices_and_settings_of_its_own(keys: dict[str, str]) -> None:
    async with FakeOpenAI() as own:
        url = {"vendor": "openai", "url": own.url}
        provider = {"name": "Ours", "engine": {**url, "model": "kokoro", "settings": {"speed": 0.9}}}
        voice = {"name": "Sky", "engine": {**url, "voice_id": "af_sky", "key_variable": "OUR_TTS_KEY"}}
        services = ProviderServices({**keys, "OUR_TTS_KEY": "ours"})
        async with Rig(services.tts(provider, voice, language="en-US", options={})) as rig:
            await rig.answer("Good morning.")
            await rig.comes(LLMFullResponseEndFrame)
            assert rig.of(TTSAudioRawFrame)
    assert own.requests[0].headers["Authorization"] == "Bearer ours"
    assert {"model": "kokoro", "voice": "af_sky", "speed": 0.9}.items() <= own.requests[0].messages[0].items()


async def test_a_voice_of_another_vendor_than_the_synthesizer_is_spoken_by_its_own(
    loopback: ProviderServices, vendors: dict[str, FakeVendor]
) -> None:
    voice = {"name": "Thalia", "engine": {"vendor": "deepgram", "voice_id": "aura-2-thalia-en"}}
    await spoken(loopback, "cartesia", voice, "en-US", {})
    assert (len(vendors["deepgram"].requests), len(vendors["cartesia"].requests)) == (1, 0)


async def test_the_language_can_change_in_the_call(loopback: ProviderServices, vendors: dict[str, FakeVendor]) -> None:
    provider, voice = entry("synthesizer_providers", "cartesia"), entry("voices", "cartesia-katie")
    async with Rig(loopback.tts(provider, voice, language="en-US", options={})) as rig:
        await rig.answer("One.")
        await rig.comes(LLMFullResponseEndFrame)
        await rig.give(TTSUpdateSettingsFrame(delta=TTSSettings(language="de")))
        await rig.answer("Zwei.")
        await rig.comes(LLMFullResponseEndFrame, 2)
    languages = {message["transcript"]: message["language"] for message in vendors["cartesia"].requests[0].messages}
    assert (languages["One."], languages["Zwei."]) == ("en", "de")
