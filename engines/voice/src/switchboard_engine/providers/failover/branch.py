"""One service at work inside a fail-over: what it is given, and what comes of it."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from copy import copy

from pipecat.frames.frames import CancelFrame, Frame
from pipecat.pipeline.pipeline import Pipeline, PipelineSink, PipelineSource
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor, FrameProcessorSetup
from pipecat.services.ai_service import AIService
from pipecat.utils.asyncio.task_manager import TaskManager

from .candidate import Candidate

logger = logging.getLogger(__name__)

CLOSE_S = 2.0
CANCELLATIONS_MAX = 10
"""How often a task of a closed service is cancelled before it is left behind."""

Came = Callable[["Branch", Frame, FrameDirection], Awaitable[None]]
"""Callback for what a service pushes, in either direction."""


class Branch:
    """A service between two ends of our own, which can be thrown away whatever it does."""

    def __init__(self, candidate: Candidate, service: FrameProcessor, came: Came) -> None:
        """Put a service to work; `came` is called with each frame that it pushes."""
        self.candidate = candidate
        self.service = service
        self.is_connected = False
        self.is_ready = False
        """Whether it is connected, and has been given what was owed before."""
        self._came = came
        source, sink = PipelineSource(self._pushed), PipelineSink(self._pushed)
        self._pipeline = Pipeline([service], source=source, sink=sink)
        self._tasks: TaskManager | None = None

    async def connect(self, setup: FrameProcessorSetup) -> None:
        """Set the service up, which connects most of them; those that connect in `start` take the StartFrame for it."""
        self._tasks = TaskManager(loop=setup.task_manager.get_event_loop())
        setup = copy(setup)
        setup.task_manager = self._tasks
        await self._pipeline.setup(setup)

    async def send(self, frame: Frame, direction: FrameDirection = FrameDirection.DOWNSTREAM) -> None:
        """Give it a frame; it works in tasks of its own."""
        await self._pipeline.queue_frame(frame, direction)

    async def throw_away(self) -> None:
        """Stop what the service is doing, and close it."""
        await self._bounded(self._cancel)
        await self.close()

    async def close(self) -> None:
        """Let go of what the service holds."""
        await self._bounded(self._cleanup)
        await self._end_tasks()

    async def _cancel(self) -> None:
        if self._tasks is not None and isinstance(self.service, AIService):
            await self.service.cancel(CancelFrame())

    async def _cleanup(self) -> None:
        if self._tasks is not None:
            await self._pipeline.cleanup()  # type: ignore[no-untyped-call]
        await _close_client(self.service)

    async def _bounded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Give a service that may be broken `CLOSE_S`; one that does not let go is left behind."""
        try:
            async with asyncio.timeout(CLOSE_S):
                await work()
        except Exception as error:  # whatever a broken service does, the call goes on
            logger.warning("%s could not be closed: %r", self.candidate.name, error)

    async def _end_tasks(self) -> None:
        """End what the service left running: a client that swallows a cancellation goes on, and connects anew."""
        for _ in range(CANCELLATIONS_MAX):
            left = self._tasks.current_tasks() if self._tasks else ()
            if not left:
                return
            for task in left:
                task.cancel()
            await asyncio.wait(left, timeout=CLOSE_S / CANCELLATIONS_MAX)
        logger.error("%s: its tasks do not end", self.candidate.name)

    async def _pushed(self, frame: Frame, direction: FrameDirection) -> None:
        await self._came(self, frame, direction)


async def _close_client(service: FrameProcessor) -> None:
    """Close the connections of a service's HTTP client, which Pipecat leaves to the garbage collector."""
    close = getattr(getattr(service, "_client", None), "close", None)
    if asyncio.iscoroutinefunction(close):
        await close()
