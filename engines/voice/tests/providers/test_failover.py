"""A vendor that hangs, refuses, breaks off or answers nonsense is replaced, and what it owed is done by the next."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from pipecat.frames.frames import (
    EndFrame,
    InputAudioRawFrame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSSpeakFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    TTSUpdateSettingsFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameProcessorSetup
from pipecat.services.settings import STTSettings, TTSSettings
from pipecat.services.stt_service import STTService

from switchboard_engine.providers import ProviderServices
from switchboard_engine.providers.failover import (
    ATTEMPTS,
    REST_S,
    Candidate,
    Outages,
    Patience,
    SttFailover,
    TtsFailover,
)

from .catalogue import entry
from .fakes import Behaviour, FakeCartesia, FakeDeepgram, FakeElevenLabs, FakeOpenAI, FakeVendor
from .keys import without
from .rig import Rig, names, sound, until

BADLY = [behaviour for behaviour in Behaviour if behaviour is not Behaviour.WELL]
SLOW = [Behaviour.UNREACHABLE, Behaviour.BUSY]
MOSTLY = [pytest.param(one, marks=pytest.mark.long) if one in SLOW else one for one in BADLY]
"""All, without those that take longest in the basic share."""
QUICK = {f"SWITCHBOARD_ENGINE_TIMEOUT_{stage}": "0.7" for stage in ("STT", "TTS", "LLM", "CONNECT")}


@dataclass
class Vendors:
    """A first and a second of each kind."""

    openai: FakeOpenAI = field(default_factory=FakeOpenAI)
    groq: FakeOpenAI = field(default_factory=lambda: FakeOpenAI("Nine o'clock."))
    hearing: FakeDeepgram = field(default_factory=FakeDeepgram)
    whisper: FakeOpenAI = field(default_factory=lambda: FakeOpenAI("When, please?"))
    eleven: FakeElevenLabs = field(default_factory=FakeElevenLabs)
    cartesia: FakeCartesia = field(default_factory=FakeCartesia)
    aura: FakeDeepgram = field(default_factory=FakeDeepgram)

    @property
    def all(self) -> list[FakeVendor]:
        return list(vars(self).values())

    def environment(self, keys: dict[str, str]) -> dict[str, str]:
        """Return all keys, the addresses of the fakes, and little patience."""
        return {
            **keys, **QUICK,
            "OPENAI_BASE_URL": self.openai.url,
            "OPENAI_STT_BASE_URL": self.whisper.url,
            "GROQ_BASE_URL": self.groq.url,
            "DEEPGRAM_STT_BASE_URL": self.hearing.ws,
            "DEEPGRAM_TTS_BASE_URL": self.aura.ws,
            "ELEVENLABS_BASE_URL": self.eleven.ws,
            "CARTESIA_BASE_URL": self.cartesia.ws,
        }  # fmt: skip

    @property
    def said(self) -> list[str]:
        """What the second synthesizer was asked to say."""
        asked = [message for request in self.aura.requests for message in request.messages]
        return [message["text"].strip() for message in asked if message["type"] == "Speak"]


FALLBACKS = {
    "SWITCHBOARD_ENGINE_FALLBACK_STT": "openai/whisper-1",
    "SWITCHBOARD_ENGINE_FALLBACK_TTS": "deepgram/aura-2@aura-2-thalia-en",
    "SWITCHBOARD_ENGINE_FALLBACK_LLM": "groq/llama-3.3-70b-versatile",
}


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
def pairs(vendors: Vendors, keys: dict[str, str]) -> ProviderServices:
    """Return services with a substitute of each kind."""
    return ProviderServices({**vendors.environment(keys), **FALLBACKS})


@pytest.fixture
def alone(vendors: Vendors, keys: dict[str, str]) -> ProviderServices:
    """Return services without substitutes."""
    return ProviderServices(vendors.environment(keys))


def synthesizer(services: ProviderServices, provider: str, voice: str) -> TtsFailover:
    provided, spoken = entry("synthesizer_providers", provider), entry("voices", voice)
    return services.tts(provided, spoken, language="en-US", options={})


@pytest.mark.parametrize("behaviour", BADLY)
async def test_a_language_model_is_replaced(behaviour: Behaviour, pairs: ProviderServices, vendors: Vendors) -> None:
    vendors.openai.behaviour = behaviour
    async with Rig(pairs.llm(entry("llm_models", "gpt-4.1"))) as rig:
        await rig.ask()
        broke_off = behaviour is Behaviour.BREAKS_OFF
        await rig.comes(LLMFullResponseEndFrame, 2 if broke_off else 1)
        answer = ["We"] if broke_off else []
        assert [frame.text for frame in rig.of(LLMTextFrame)] == [*answer, "Nine", " o'clock."]
        assert len(rig.of(LLMFullResponseStartFrame)) == len(rig.of(LLMFullResponseEndFrame))
        assert rig.errors == []
        before = len(vendors.openai.requests)
        await rig.ask()
        await rig.comes(LLMFullResponseEndFrame, 3 if broke_off else 2)
        assert len(vendors.openai.requests) == before, "the one that failed is asked again"


@pytest.mark.parametrize("behaviour", BADLY)
async def test_a_transcriber_is_replaced_and_nothing_is_unheard(
    behaviour: Behaviour, pairs: ProviderServices, vendors: Vendors
) -> None:
    vendors.hearing.behaviour = behaviour
    async with Rig(pairs.stt(entry("transcriber_providers", "deepgram"), languages=["en-US"])) as rig:
        await rig.speak()
        heard = await rig.comes(TranscriptionFrame)
        assert [frame.text for frame in heard] == ["When, please?"]
        assert len(rig.of(InputAudioRawFrame)) == 70, "sound passes once"
        assert len(rig.of(VADUserStartedSpeakingFrame)) == len(rig.of(VADUserStoppedSpeakingFrame)) == 1
        assert rig.errors == []


async def test_a_cough_replaces_the_transcriber_at_most_once_around(pairs: ProviderServices, vendors: Vendors) -> None:
    vendors.hearing.behaviour, vendors.whisper.words = Behaviour.SILENT, ""
    transcriber = pairs.stt(entry("transcriber_providers", "deepgram"), languages=["en-US"])
    async with Rig(transcriber) as rig:
        await rig.speak()
        await until(lambda: len(vendors.whisper.requests) == 1)
        await until(lambda: len(transcriber.journal) == 0)
        vendors.whisper.words = "Hello?"
        await rig.speak()
        assert [frame.text for frame in await rig.comes(TranscriptionFrame)] == ["Hello?"]
        assert rig.errors == []
        assert transcriber.is_usable


async def test_a_short_noise_replaces_nobody(pairs: ProviderServices, vendors: Vendors) -> None:
    vendors.hearing.behaviour = Behaviour.SILENT
    transcriber = pairs.stt(entry("transcriber_providers", "deepgram"), languages=["en-US"])
    async with Rig(transcriber) as rig:
        await rig.speak(0.4)
        await until(lambda: len(rig.of(VADUserStoppedSpeakingFrame)) == 1)
        await until(lambda: len(transcriber.journal) == 0)
        assert transcriber.candidate.name == "deepgram nova-3"


SPEAKERS = [
    pytest.param("elevenlabs", "elevenlabs-rachel"),
    pytest.param("cartesia", "cartesia-katie", marks=pytest.mark.long),
    pytest.param("openai-tts", "openai-alloy", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("provider", "voice"), SPEAKERS)
@pytest.mark.parametrize("behaviour", BADLY)
async def test_a_synthesizer_is_replaced_and_nothing_is_unsaid(
    provider: str, voice: str, behaviour: Behaviour, pairs: ProviderServices, vendors: Vendors
) -> None:
    for vendor in (vendors.eleven, vendors.cartesia, vendors.openai):
        vendor.behaviour = behaviour
    async with Rig(synthesizer(pairs, provider, voice)) as rig:
        await rig.answer("We open ", "at nine. ", "Come early.")
        await rig.comes(LLMFullResponseEndFrame)
        tells_words = provider != "openai-tts"
        rest = behaviour is Behaviour.BREAKS_OFF and tells_words
        assert vendors.said == (["Come early."] if rest else ["We open at nine.", "Come early."])
        assert [len(rig.of(kind)) for kind in (LLMFullResponseStartFrame, LLMFullResponseEndFrame)] == [1, 1]
        assert len(rig.of(TTSStartedFrame)) == len(rig.of(TTSStoppedFrame))
        assert rig.errors == []


@pytest.mark.parametrize("behaviour", MOSTLY)
async def test_a_greeting_is_spoken_by_the_substitute(
    behaviour: Behaviour, pairs: ProviderServices, vendors: Vendors
) -> None:
    vendors.cartesia.behaviour = behaviour
    async with Rig(synthesizer(pairs, "cartesia", "cartesia-katie")) as rig:
        await rig.give(TTSSpeakFrame("Good morning."), TTSSpeakFrame("How can I help?"))
        await until(lambda: "How can I help?" in vendors.said, lambda: f"{vendors.said} {names(rig.down)}")
        await until(lambda: len(rig.of(TTSStartedFrame)) == len(rig.of(TTSStoppedFrame)))
        assert vendors.said == ["Good morning.", "How can I help?"][-len(vendors.said) :]
        assert rig.of(TTSAudioRawFrame)
        assert rig.errors == []


async def test_what_was_interrupted_is_not_said_by_the_substitute(pairs: ProviderServices, vendors: Vendors) -> None:
    vendors.cartesia.behaviour = Behaviour.SILENT
    async with Rig(synthesizer(pairs, "cartesia", "cartesia-katie")) as rig:
        await rig.answer("A long story.")
        await vendors.cartesia.asked(lambda request: bool(request.messages))
        await rig.give(InterruptionFrame())
        await rig.comes(InterruptionFrame)
        await rig.answer("Yes?")
        await rig.comes(TTSAudioRawFrame)
    assert vendors.said == ["Yes?"]


async def test_the_substitute_speaks_the_language_that_was_changed_to(vendors: Vendors, keys: dict[str, str]) -> None:
    environment = {**vendors.environment(keys), "SWITCHBOARD_ENGINE_FALLBACK_TTS": "cartesia/sonic-3@a-voice"}
    vendors.eleven.behaviour = Behaviour.SILENT
    async with Rig(synthesizer(ProviderServices(environment), "elevenlabs", "elevenlabs-rachel")) as rig:
        await rig.give(TTSUpdateSettingsFrame(delta=TTSSettings(language="de")))
        await rig.answer("Guten Tag.")
        await rig.comes(TTSAudioRawFrame)
    assert vendors.cartesia.requests[0].messages[0]["language"] == "de"


@pytest.mark.parametrize("behaviour", [Behaviour.BUSY, Behaviour.GARBAGE])
async def test_one_alone_is_tried_again_and_then_reported(
    behaviour: Behaviour, alone: ProviderServices, vendors: Vendors
) -> None:
    vendors.cartesia.behaviour = behaviour
    speech = synthesizer(alone, "cartesia", "cartesia-katie")
    async with Rig(speech) as rig:
        await rig.give(TTSSpeakFrame("Good morning to you all, wherever you are."))
        error = await rig.fails()
        assert error.error.startswith("The speech is lost. cartesia sonic-3: ")
        assert error.processor is speech
        assert not speech.is_usable
        connections = len(vendors.cartesia.requests)
        assert connections == ATTEMPTS
        await rig.give(TTSSpeakFrame("Hello?"), EndFrame())
        await rig.comes(EndFrame)
        assert len(vendors.cartesia.requests) == connections


async def test_one_without_a_key_is_replaced_before_the_call(vendors: Vendors, keys: dict[str, str]) -> None:
    environment = without({**vendors.environment(keys), **FALLBACKS}, "ELEVENLABS_API_KEY", "ELEVENLABS_BASE_URL")
    async with Rig(synthesizer(ProviderServices(environment), "elevenlabs", "elevenlabs-rachel")) as rig:
        await rig.answer("Good morning.")
        await rig.comes(TTSAudioRawFrame)
        assert rig.errors == []
    assert vendors.said == ["Good morning."]


async def test_the_next_call_begins_with_the_substitute(pairs: ProviderServices, vendors: Vendors) -> None:
    vendors.openai.behaviour = Behaviour.BREAKS_OFF
    for asked in (1, 1):
        async with Rig(pairs.llm(entry("llm_models", "gpt-4.1"))) as rig:
            await rig.ask()
            await until(lambda: "Nine o'clock." in "".join(frame.text for frame in rig.of(LLMTextFrame)))
        assert len(vendors.openai.requests) == asked


def test_a_service_rests_for_a_while() -> None:
    now = 0.0
    outages = Outages(lambda: now)
    first, second = (Candidate(name, lambda: pytest.fail("it is not built")) for name in ("first", "second"))

    def order() -> list[str]:
        return [candidate.name for candidate in outages.ordered([first, second])]

    outages.failed("first")
    assert order() == ["second", "first"]
    now = REST_S - 0.1
    assert order() == ["second", "first"]
    now = REST_S
    assert order() == ["first", "second"]
    outages.failed("first")
    outages.succeeded("first")
    assert order() == ["first", "second"]


async def test_one_alone_recovers(alone: ProviderServices, vendors: Vendors) -> None:
    vendors.openai.behaviour = Behaviour.BREAKS_OFF
    async with Rig(alone.llm(entry("llm_models", "gpt-4.1"))) as rig:
        await rig.ask()
        await rig.comes(LLMTextFrame)
        vendors.openai.behaviour = Behaviour.WELL
        await rig.comes(LLMFullResponseEndFrame, 2)
        assert "".join(frame.text for frame in rig.of(LLMTextFrame)) == "WeWe open at nine."
        assert rig.errors == []


async def test_all_that_refuse_are_named_without_their_keys(
    pairs: ProviderServices, vendors: Vendors, keys: dict[str, str]
) -> None:
    vendors.openai.behaviour = vendors.groq.behaviour = Behaviour.REFUSES
    async with Rig(pairs.llm(entry("llm_models", "gpt-4.1"))) as rig:
        await rig.ask()
        error = (await rig.fails()).error
        assert "openai gpt-4.1: " in error
        assert "; groq llama-3.3-70b-versatile: " in error
        assert not any(key in error for key in keys.values())
        await rig.comes(LLMFullResponseEndFrame)


@pytest.mark.parametrize("behaviour", MOSTLY)
async def test_a_call_ends_whatever_the_vendors_do(
    behaviour: Behaviour, alone: ProviderServices, vendors: Vendors
) -> None:
    for vendor in vendors.all:
        vendor.behaviour = behaviour
    for service in (
        alone.llm(entry("llm_models", "gpt-4.1")),
        alone.stt(entry("transcriber_providers", "deepgram"), languages=["en-US"]),
        synthesizer(alone, "elevenlabs", "elevenlabs-rachel"),
    ):
        async with Rig(service) as rig:
            await rig.give(EndFrame())
            await rig.comes(EndFrame)


async def test_a_context_from_behind_is_answered_by_the_substitute(pairs: ProviderServices, vendors: Vendors) -> None:
    vendors.openai.behaviour = Behaviour.REFUSES
    async with Rig(pairs.llm(entry("llm_models", "gpt-4.1"))) as rig:
        await rig.give_from_behind(LLMContextFrame(LLMContext(messages=[{"role": "user", "content": "When?"}])))
        await rig.comes(LLMFullResponseEndFrame)
        assert [frame.text for frame in rig.of(LLMTextFrame)] == ["Nine", " o'clock."]
        assert rig.of(LLMContextFrame) == []


async def test_speech_that_is_noticed_behind_is_heard_by_the_substitute(
    pairs: ProviderServices, vendors: Vendors
) -> None:
    vendors.hearing.behaviour = Behaviour.BREAKS_OFF
    transcriber = pairs.stt(entry("transcriber_providers", "deepgram"), languages=["en-US"])
    async with Rig(transcriber) as rig:
        await rig.give(*map(sound, range(10)))
        await rig.give_from_behind(VADUserStartedSpeakingFrame())
        await until(lambda: len(transcriber.journal) > 0)
        await rig.give(*map(sound, range(60)))
        await until(lambda: len(rig.of(InputAudioRawFrame)) == 70)
        await rig.give_from_behind(VADUserStoppedSpeakingFrame())
        assert [frame.text for frame in await rig.comes(TranscriptionFrame)] == ["When, please?"]
        assert rig.of(VADUserStartedSpeakingFrame) == []


class Reconnecting(STTService):
    """A transcriber whose client takes a cancellation for a lost connection, and connects anew."""

    swallows = 3

    def __init__(self) -> None:
        super().__init__(settings=STTSettings(model="none", language=None))
        self.connecting: asyncio.Task[None] | None = None

    async def run_stt(self, audio: bytes) -> AsyncIterator[None]:  # type: ignore[override]
        del audio
        yield None

    async def setup(self, setup: FrameProcessorSetup) -> None:  # type: ignore[override]
        await super().setup(setup)
        self.connecting = self.create_task(self._connect())
        await asyncio.sleep(0)

    async def cleanup(self) -> None:
        await super().cleanup()  # type: ignore[no-untyped-call]
        assert self.connecting is not None
        self.connecting.cancel()

    async def _connect(self) -> None:
        for _ in range(self.swallows):
            try:
                await asyncio.sleep(3_600)
            except asyncio.CancelledError:
                await asyncio.sleep(0.05)
        await asyncio.sleep(3_600)


async def test_a_service_leaves_no_task_behind() -> None:
    built: list[Reconnecting] = []

    def build() -> Reconnecting:
        built.append(Reconnecting())
        return built[-1]

    async with Rig(SttFailover([Candidate("reconnecting", build)], Patience(1.0))) as rig:
        await rig.give(sound(0))
        await rig.comes(InputAudioRawFrame)
    assert built[0].connecting is not None
    assert built[0].connecting.done()


@pytest.mark.parametrize("meanwhile_s", [0.0, 0.2, 0.4])
async def test_a_call_that_ends_while_a_service_is_replaced_leaves_no_task_behind(
    meanwhile_s: float, keys: dict[str, str]
) -> None:
    before = asyncio.all_tasks()
    async with FakeDeepgram() as hearing:
        services = ProviderServices({**keys, **QUICK, "DEEPGRAM_STT_BASE_URL": hearing.ws})
        transcriber = services.stt(entry("transcriber_providers", "deepgram"), languages=["en-US"])
        rig = Rig(transcriber)
        await rig.__aenter__()
        await rig.give(sound(0))
        await rig.comes(InputAudioRawFrame)
    # Nobody is there any more: each attempt to connect fails.
    await rig.give(sound(1))
    await until(lambda: transcriber.service is None)
    await asyncio.sleep(meanwhile_s)
    await rig.worker.cancel()
    await until(lambda: not [task for task in asyncio.all_tasks() - before if "::" in task.get_name()])
