"""A call that lasts needs no more memory than one that has begun."""

import asyncio
import gc
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pipecat.frames.frames import Frame, InputAudioRawFrame, TTSSpeakFrame
from pipecat.observers.base_observer import BaseObserver
from pipecat.processors.frame_processor import FrameDirection
from pipecat.transports.base_input import BaseInputTransport

from providers.catalogue import entry
from providers.fakes import FakeDeepgram, FakeElevenLabs, FakeOpenAI
from providers.keys import all_keys
from switchboard_engine.client import Assistant
from switchboard_engine.client.events import Event
from switchboard_engine.conversation.listening import Listening
from switchboard_engine.conversation.machines import MuteSwitch
from switchboard_engine.conversation.measures import TurnMeasures, UsageCount
from switchboard_engine.conversation.pipeline import PIPELINE_HZ, ConversationPipeline, Middle, Stages
from switchboard_engine.conversation.settings import ConversationSettings
from switchboard_engine.conversation.signals import Signals
from switchboard_engine.conversation.speaker import Speaker
from switchboard_engine.conversation.speech import Speech
from switchboard_engine.conversation.transcript import TranscriptLines
from switchboard_engine.legs.transport import LineTransport
from switchboard_engine.providers import ProviderServices

from .conftest import assistant
from .memory_line import MemoryAudio

FRAMES = 1_000
ELEMENTS_MAX = FRAMES // 2
"""Elements by which containers may grow over so many frames; what is kept of each would be more."""


class Hoarder(Listening):
    """Keeps the id of each frame that passes."""

    def __init__(self, lines: TranscriptLines, signals: Signals) -> None:
        super().__init__(lines, signals)
        self.ids: set[int] = set()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        self.ids.add(frame.id)
        await super().process_frame(frame, direction)


class QuickAudio(MemoryAudio):
    """A line that takes sound at once."""

    async def write(self, pcm: bytes, sample_hz: int) -> bool:
        del pcm, sample_hz
        return True


def elements() -> int:
    """Return how many elements all containers of the process have."""
    gc.collect()
    return sum(len(one) for one in gc.get_objects() if type(one) in (set, dict, list, deque))


@asynccontextmanager
async def stages(environment: dict[str, str]) -> AsyncIterator[Stages]:
    """Make the services of a call, whose vendors are fakes."""
    async with FakeDeepgram(eager=False) as deepgram, FakeOpenAI() as openai, FakeElevenLabs() as elevenlabs:
        urls = {
            "DEEPGRAM_STT_BASE_URL": deepgram.ws,
            "OPENAI_BASE_URL": openai.url,
            "ELEVENLABS_BASE_URL": elevenlabs.ws,
        }
        services = ProviderServices({**environment, **urls})
        yield Stages(
            services.llm(entry("llm_models", "gpt-4.1")),
            services.stt(entry("transcriber_providers", "deepgram"), languages=["en-US"]),
            services.tts(
                entry("synthesizer_providers", "elevenlabs"),
                entry("voices", "elevenlabs-rachel"),
                language="en-US",
                options={},
            ),
        )


@asynccontextmanager
async def running(made: Stages, listening: type[Listening]) -> AsyncIterator[tuple[BaseInputTransport, Speech]]:
    """Run the pipeline of a call; yields where the customer's sound comes in, and what they hear."""

    async def told(_: Event) -> None:
        return

    async def pressed(_: str) -> None:
        return

    lines = TranscriptLines(told, language="en")
    speech = Speech(lines)
    observers: list[BaseObserver] = [TurnMeasures(lines, told), UsageCount()]
    middle = Middle(listening(lines, Signals()), Speaker(None, ()), speech, observers=observers)
    settings = ConversationSettings.read(Assistant.read(assistant()))
    pipeline = await ConversationPipeline.build(made, middle, settings, [], MuteSwitch())
    line = LineTransport(QuickAudio(), pressed)
    pipeline.attach(line, None)
    assert await pipeline.start(10)
    entrance = line.input()
    assert isinstance(entrance, BaseInputTransport)
    try:
        yield entrance, speech
    finally:
        await pipeline.stop()


async def passed(entrance: BaseInputTransport, speech: Speech) -> int:
    """Let the customer be silent for `FRAMES` of 20 ms, and the assistant speak now and then.

    Returns how many elements all containers then have.
    """
    for nth in range(FRAMES):
        if nth % 200 == 0:
            spoken = speech.spoken
            await entrance.push_frame(TTSSpeakFrame("One moment.", append_to_context=False))
            while speech.spoken == spoken or not speech.quiet.is_set():  # noqa: ASYNC110 - as the voice speaks it
                await asyncio.sleep(0.01)
        await entrance.push_audio_frame(InputAudioRawFrame(bytes(640), PIPELINE_HZ, 1))
        await asyncio.sleep(0)
    await asyncio.sleep(0.2)
    return elements()


@pytest.mark.parametrize(("listening", "grows"), [(Listening, False), (Hoarder, True)])
async def test_what_passes_is_not_kept(
    listening: type[Listening], grows: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        asyncio.timeout(60),
        stages(all_keys(tmp_path)) as made,
        running(made, listening) as (entrance, speech),
    ):
        begun = await passed(entrance, speech)
        caplog.clear()
        lasted = await passed(entrance, speech)
    assert (lasted - begun > ELEMENTS_MAX) is grows, f"{begun} elements became {lasted}"
