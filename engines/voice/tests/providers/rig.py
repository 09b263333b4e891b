"""A pipeline around one service: what it is given, and what comes out of it at both ends."""

import asyncio
import math
import struct
from collections.abc import Callable
from typing import Any, Self, TypeVar

from pipecat.frames.frames import (
    EndFrame,
    ErrorFrame,
    Frame,
    InputAudioRawFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    StartFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.workers.runner import WorkerRunner

WAIT_S = 15.0
RATE_HZ = 16_000

F = TypeVar("F", bound=Frame)


class Tap(FrameProcessor):
    """Notes the frames that pass in one direction."""

    def __init__(self, direction: FrameDirection) -> None:
        super().__init__(enable_direct_mode=True)
        self.frames: list[Frame] = []
        self._direction = direction

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if direction is self._direction and not isinstance(frame, StartFrame):
            self.frames.append(frame)
        await self.push_frame(frame, direction)


class Rig:
    """Runs a service between two taps while entered, and ends it as a call does."""

    def __init__(self, service: FrameProcessor) -> None:
        self._above, self._below = Tap(FrameDirection.UPSTREAM), Tap(FrameDirection.DOWNSTREAM)
        self.worker = PipelineWorker(
            Pipeline([self._above, service, self._below]),
            params=PipelineParams(audio_in_sample_rate=RATE_HZ, audio_out_sample_rate=24_000),
            cancel_on_idle_timeout=False,
            enable_rtvi=False,
        )
        self._started = asyncio.Event()
        self._running: asyncio.Task[None] | None = None

    @property
    def down(self) -> list[Frame]:
        """What came out, downstream."""
        return self._below.frames

    @property
    def errors(self) -> list[ErrorFrame]:
        """Errors that came out."""
        return [frame for frame in self._above.frames if isinstance(frame, ErrorFrame)]

    async def __aenter__(self) -> Self:
        async def started(*_: object) -> None:
            self._started.set()

        self.worker.add_event_handler("on_pipeline_started", started)
        self._running = asyncio.create_task(self._run())
        async with asyncio.timeout(WAIT_S):
            await self._started.wait()
        return self

    async def _run(self) -> None:
        runner = WorkerRunner(handle_sigint=False)
        await runner.add_workers(self.worker)
        await runner.run()

    async def __aexit__(self, *_: object) -> None:
        assert self._running is not None
        if not any(isinstance(frame, EndFrame) for frame in self.down):
            await self.give(EndFrame())
        async with asyncio.timeout(WAIT_S):
            await self._running

    async def give(self, *frames: Frame) -> None:
        """Give the service frames."""
        for frame in frames:
            await self.worker.queue_frame(frame)

    async def give_from_behind(self, *frames: Frame) -> None:
        """Give the service frames upstream."""
        for frame in frames:
            await self.worker.queue_frame(frame, FrameDirection.UPSTREAM)

    async def ask(self, *messages: dict[str, Any], tools: Any = None) -> None:
        """Ask a language model."""
        asked: Any = list(messages) or [{"role": "user", "content": "When do you open?"}]
        context = LLMContext(messages=asked, **({"tools": tools} if tools else {}))
        await self.give(LLMContextFrame(context))

    async def answer(self, *texts: str) -> None:
        """Give a synthesizer the texts of one answer."""
        await self.give(LLMFullResponseStartFrame(), *map(LLMTextFrame, texts), LLMFullResponseEndFrame())

    async def speak(self, seconds: float = 1.2) -> None:
        """Give a transcriber what a customer says."""
        await self.give(*map(sound, range(10)), VADUserStartedSpeakingFrame())
        await self.give(*map(sound, range(round(seconds * 50))), VADUserStoppedSpeakingFrame())

    def of(self, kind: type[F]) -> list[F]:
        """Return what came out of one type."""
        return [frame for frame in self.down if isinstance(frame, kind)]

    async def comes(self, kind: type[F], count: int = 1) -> list[F]:
        """Wait until so many frames of a type have come out."""
        await until(lambda: len(self.of(kind)) >= count, lambda: f"{kind.__name__}: {names(self.down)}, {self.errors}")
        return self.of(kind)

    async def fails(self) -> ErrorFrame:
        """Wait for an error to come out."""
        await until(lambda: bool(self.errors), lambda: f"no error: {names(self.down)}")
        return self.errors[0]


def sound(at: int) -> InputAudioRawFrame:
    """Return 20 ms of a tone."""
    samples = [round(8_000 * math.sin(0.05 * (at * 320 + index))) for index in range(320)]
    return InputAudioRawFrame(audio=struct.pack("<320h", *samples), sample_rate=RATE_HZ, num_channels=1)


def names(frames: list[Frame]) -> list[str]:
    """Return the types of frames, for a failure's message."""
    return [type(frame).__name__ for frame in frames]


async def until(is_so: Callable[[], bool], otherwise: Callable[[], str] = lambda: "it did not come") -> None:
    """Wait until something is so."""
    try:
        async with asyncio.timeout(WAIT_S):
            while not is_so():  # noqa: ASYNC110
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(otherwise()) from None
