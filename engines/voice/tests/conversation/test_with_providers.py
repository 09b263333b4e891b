"""Whole conversations with the services of `providers`, whose vendors are fakes: well, with substitutes, and lost."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from pipecat.processors.aggregators.llm_context import LLMContext

from providers.catalogue import entry
from providers.fakes import Behaviour, FakeDeepgram, FakeElevenLabs, FakeOpenAI, FakeRealtime, FakeVendor
from providers.keys import all_keys
from switchboard_engine.client import Assistant
from switchboard_engine.client.wire import Function
from switchboard_engine.conversation.fallback import ToolFallback
from switchboard_engine.providers import ProviderServices

from .conftest import Scene, say
from .script import Break, Say, call
from .test_slice import END_CALL, LOOK_UP

LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
GREETING = "Hello, Anna."
APOLOGY = "I am sorry, something does not work here. Please call again later."
SPOKEN = "what are your opening hours"
"""What the customer says; the fakes hear in it what the test wants."""
WITH_SUBSTITUTES = {
    "SWITCHBOARD_ENGINE_FALLBACK_STT": "openai/whisper-1",
    "SWITCHBOARD_ENGINE_FALLBACK_TTS": "deepgram/aura-2@aura-2-thalia-en",
    "SWITCHBOARD_ENGINE_FALLBACK_LLM": "groq/llama-3.3-70b-versatile",
}


@dataclass
class Vendors:
    """Those of the first choice besides the scripted language model, and their substitutes."""

    hearing: FakeDeepgram = field(default_factory=lambda: FakeDeepgram(eager=False))
    voice: FakeElevenLabs = field(default_factory=lambda: FakeElevenLabs(letter_ms=40))
    realtime: FakeRealtime = field(default_factory=FakeRealtime)
    whisper: FakeOpenAI = field(default_factory=lambda: FakeOpenAI("Where is my order?"))
    groq: FakeOpenAI = field(default_factory=lambda: FakeOpenAI("It is on its way."))
    aura: FakeDeepgram = field(default_factory=FakeDeepgram)

    @property
    def all(self) -> list[FakeVendor]:
        return list(vars(self).values())


@pytest.fixture
async def vendors() -> AsyncIterator[Vendors]:
    """Run the fakes."""
    running = Vendors()
    for vendor in running.all:
        await vendor.__aenter__()
    yield running
    for vendor in running.all:
        await vendor.__aexit__()


@pytest.fixture
def environment(scene: Scene, vendors: Vendors, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return what the engine's environment has: keys, addresses, and little patience with speech."""
    return {
        **all_keys(tmp_path_factory.mktemp("keys")),
        "SWITCHBOARD_ENGINE_TIMEOUT_TTS": "1",
        "SWITCHBOARD_ENGINE_TIMEOUT_STT": "1",
        "OPENAI_BASE_URL": scene.model.url,
        "OPENAI_STT_BASE_URL": vendors.whisper.url,
        "OPENAI_REALTIME_BASE_URL": f"{vendors.realtime.http}/v1",
        "GROQ_BASE_URL": vendors.groq.url,
        "DEEPGRAM_STT_BASE_URL": vendors.hearing.ws,
        "DEEPGRAM_TTS_BASE_URL": vendors.aura.ws,
        "ELEVENLABS_BASE_URL": vendors.voice.ws,
    }


def assistant(**members: Any) -> dict[str, Any]:
    """Return what of an assistant the vendors make."""
    return {
        "greeting": GREETING,
        "transcriber_provider": entry("transcriber_providers", "deepgram"),
        "llm_model": entry("llm_models", "gpt-4.1"),
        "synthesizer_provider": entry("synthesizer_providers", "elevenlabs"),
        "voice": entry("voices", "elevenlabs-rachel"),
        # On a busy machine sound comes late: a short silence would split what is said.
        "turns": {"strategy": "silence", "stop_ms": 800},
        **members,
    }


async def test_a_conversation_with_every_vendor_well(
    scene: Scene, vendors: Vendors, environment: dict[str, str]
) -> None:
    scene.services = ProviderServices(environment)
    scene.service.tool_answer = (200, {"status": 200, "body": "shipped", "duration_ms": 3})
    scene.model.rules = {
        "order": call("look_up", question="my order"),
        "shipped": Say("It was shipped."),
        "count": Say(LONG),
        "goodbye": Say("Bye.", calls=(("end_call", {}),)),
    }
    line = await scene.answered(**assistant(functions=[LOOK_UP, END_CALL]))
    await scene.greeted()
    vendors.hearing.words = "Where is my order?"
    await say(line, SPOKEN)
    await scene.greeted(2)
    vendors.hearing.words = "Please count."
    asked = await say(line, SPOKEN)
    await scene.until(lambda: line.audio.first_sound(asked) is not None)
    vendors.hearing.words = "Thank you, goodbye."
    await say(line, SPOKEN)
    end = await scene.ended()
    assert (end["by"], end["reason"]) == ("assistant", "the assistant ended the call")
    assert scene.said("human") == ["Where is my order?", "Please count.", "Thank you, goodbye."]
    greeting, shipped, counted, bye = scene.said("bot")
    assert (greeting, shipped, bye) == (GREETING, "It was shipped.", "Bye.")
    assert LONG.startswith(counted)
    assert counted != LONG
    assert scene.fake.tools == [("look_up", {"question": "my order"})]
    await scene.until(lambda: bool(scene.fake.of("usage") and scene.fake.of("metrics")))
    assert scene.fake.of("usage")[0]["llm_tokens_in"] > 0
    assert scene.fake.of("usage")[0]["tts_characters"] > len(GREETING)
    assert scene.fake.of("metrics")[0]["total_ms"] > 0


async def test_substitutes_go_on_within_the_turn(scene: Scene, vendors: Vendors, environment: dict[str, str]) -> None:
    scene.services = ProviderServices({**environment, **WITH_SUBSTITUTES})
    scene.service.tool_answer = (200, {"status": 200, "body": "shipped", "duration_ms": 3})
    # The first model fails only when it has the result of the function.
    scene.model.rules = {"order": call("look_up", question="my order"), "shipped": Break(401)}
    line = await scene.answered(**assistant(functions=[LOOK_UP]))
    await scene.greeted()
    vendors.hearing.behaviour, vendors.voice.behaviour = Behaviour.BREAKS_OFF, Behaviour.SILENT
    await say(line, SPOKEN)
    await scene.until(lambda: "It is on its way." in " ".join(scene.said("bot")))
    line.end()
    end = await scene.ended()
    assert (end["by"], end["reason"]) == ("customer", "the customer hung up")
    assert scene.said("human") == ["Where is my order?"]
    spoken = [one["text"].strip() for asked in vendors.aura.requests for one in asked.messages if "text" in one]
    assert spoken[-1] == "It is on its way."
    assert "shipped" in str(vendors.groq.requests[-1].messages)


@pytest.mark.parametrize(
    ("lost", "reason", "last"),
    [
        ("stt", "the speech-to-text failed: The speech recognition is lost. deepgram nova-3: ", APOLOGY),
        ("llm", "the language model failed: The language model is lost. openai gpt-4.1: ", APOLOGY),
        ("tts", "the text-to-speech failed: The speech is lost. elevenlabs ", GREETING),
    ],
)
async def test_a_service_that_is_lost_ends_the_call(
    scene: Scene, vendors: Vendors, environment: dict[str, str], lost: str, reason: str, last: str
) -> None:
    scene.services = ProviderServices(environment)
    line = await scene.answered(**assistant())
    await scene.greeted()
    if lost == "stt":
        vendors.hearing.behaviour = Behaviour.BREAKS_OFF
    elif lost == "llm":
        scene.model.otherwise = Break(401)
    else:
        vendors.voice.behaviour = Behaviour.SILENT
    await say(line, SPOKEN)
    end = await scene.ended(30)
    assert (end["type"], end["by"]) == ("ended", "engine")
    assert end["reason"].startswith(reason)
    said = " ".join(scene.said("bot"))
    assert said.endswith(last)
    assert said.count(last) == 1


async def test_a_key_that_is_missing_fails_the_call_before_it_is_dialed(
    scene: Scene, environment: dict[str, str]
) -> None:
    lacking = {name: value for name, value in environment.items() if not name.startswith("ELEVENLABS_")}
    scene.services = ProviderServices(lacking)
    await scene.offer(**assistant())
    end = await scene.ended()
    assert end["type"] == "failed"
    assert end["reason"].startswith("The assistant's services cannot be made: ElevenLabs needs ELEVENLABS_API_KEY")
    assert scene.leg.lines == []


async def test_a_realtime_model_speaks_and_says_what_it_is_told(
    scene: Scene, vendors: Vendors, environment: dict[str, str]
) -> None:
    scene.services = ProviderServices(environment)
    line = await scene.answered(
        mode="multimodal",
        greeting=GREETING,
        multimodal_model=entry("multimodal_models", "gpt-realtime"),
        voice=entry("voices", "openai-realtime-cedar"),
        llm_temperature="0.90",
        functions=[LOOK_UP],
    )
    await scene.greeted()
    scene.fake.command("say", text="We close now.")
    scene.service.wake()
    await scene.greeted(2)
    line.end()
    end = await scene.ended()
    assert (end["by"], end["reason"]) == ("customer", "the customer hung up")
    assert scene.said("bot") == ["Good morning."] * 2
    assert scene.fake.of("unsupported")[0]["settings"] == ["llm_temperature"]
    told = vendors.realtime.requests[0].messages
    session = [one["session"] for one in told if one["type"] == "session.update"][-1]
    assert session["instructions"].startswith("You answer the telephone of a shop.")
    assert [tool["name"] for tool in session["tools"]] == ["look_up"]
    items = [str(one["item"]) for one in told if one["type"] == "conversation.item.create"]
    assert [GREETING in items[0], "We close now." in items[1]] == [True, True]
    assert sum(one["type"] == "response.create" for one in told) == 2


async def test_a_fallback_model_answers_beside_the_conversation(scene: Scene, environment: dict[str, str]) -> None:
    scene.model.rules = {"a7": Say('{"order": "A7"}')}
    entries = {"chat_llm_fallback": entry("llm_models", "gpt-4.1")}
    fallback = ToolFallback.make(Assistant.read(entries), ProviderServices(environment))
    assert fallback is not None
    tool = Function("look_up", "Finds an order.", {}, "tool", None, {})
    context = LLMContext([{"role": "user", "content": "Where is my order A7?"}])
    assert await fallback.arguments(tool, {}, "The order is required.", context) == {"order": "A7"}
    await fallback.close()
