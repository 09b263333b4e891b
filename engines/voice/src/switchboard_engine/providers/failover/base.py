"""Fail-over: a processor that has one of several services do its work, and goes on with the next when that fails.

A service fails when it reports an error, is not connected in time, or gives nothing for too long of what it owes. It is
thrown away, the next is built, connected, and given everything that is still owed, so that the customer hears a pause
instead of nothing. When the last one is given up, the fail-over reports an error frame and is not usable any more.

Pipecat's `ServiceSwitcher` is not used: it connects all services at once for every call, moves on only after errors
that are permanent, and what the failed service owed is lost.
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from pipecat.frames.frames import (
    CancelFrame,
    EndFrame,
    ErrorFrame,
    Frame,
    InterruptionFrame,
    ServiceUpdateSettingsFrame,
    StartFrame,
    SystemFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor, FrameProcessorSetup
from pipecat.services.settings import LLMSettings, STTSettings, TTSSettings
from pipecat.utils.errors import ErrorCategory

from ...services import ProviderError
from .branch import Branch
from .candidate import Candidate, Patience, Reasons, following
from .journal import Journal
from .outages import Outages

logger = logging.getLogger(__name__)

_ANSWER, _CONNECT, _END = "answer", "connect", "end"
"""Names of alarms."""
_COMMON_SETTINGS = (LLMSettings, STTSettings, TTSSettings)


class Failover(FrameProcessor):
    """A service of one kind with its substitutes; kinds say in the hooks what is owed, and when it is done."""

    what: str
    """What is lost when all have failed, for sentences."""
    updates: type[ServiceUpdateSettingsFrame[Any]]
    """Frames that change the settings of this kind; every service gets them."""
    consumed: tuple[type[Frame], ...] = ()
    """Frames that no service of this kind passes on."""
    from_behind: tuple[type[Frame], ...] = ()
    """Work that also comes upstream; another service gets it from before, and does not pass it on."""

    def __init__(self, candidates: Sequence[Candidate], patience: Patience, outages: Outages | None = None) -> None:
        """Build the first of `candidates` that can be built; raises the first's `ProviderError` if none can.

        The others are built when they are needed. `outages` is what other calls found out.
        """
        super().__init__(enable_direct_mode=True)
        self.patience = patience
        self.journal = Journal()
        self._outages = outages or Outages()
        self._candidates = self._outages.ordered(candidates)
        self._reasons = Reasons()
        self._settings: list[tuple[Candidate, ServiceUpdateSettingsFrame[Any]]] = []
        self._start: StartFrame | None = None
        self._started = asyncio.Event()
        self._alarms: dict[str, asyncio.TimerHandle] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_over = False
        self._discarded: set[Branch] = set()
        self._last, service = self._first()
        self._branch: Branch | None = Branch(self._last, service, self._came)
        self._beginning: asyncio.Task[None] | None = None

    def _first(self) -> tuple[Candidate, FrameProcessor]:
        errors: list[ProviderError] = []
        for candidate in self._candidates:
            try:
                return candidate, candidate.build()
            except ProviderError as error:
                errors.append(error)
                self._cannot_be_built(candidate, error)
        raise errors[0]

    def _cannot_be_built(self, candidate: Candidate, error: ProviderError) -> None:
        candidate.failed(permanently=True)
        logger.warning("%s: %s", candidate.name, self._reasons.note(candidate.name, str(error)))

    @property
    def service(self) -> FrameProcessor | None:
        """The service at work; null while one is replaced, and when all have failed."""
        return self._branch.service if self._branch else None

    @property
    def candidate(self) -> Candidate:
        """The one at work, or the last that was."""
        return self._last

    def processors_with_metrics(self) -> list[FrameProcessor]:
        """Return the service at work, if it measures."""
        return [self.service] if self.service and self.service.can_generate_metrics() else []

    # Hooks of the kinds.

    def owes(self, frame: Frame) -> bool:
        """Return whether a frame is work, or belongs to it."""
        raise NotImplementedError

    def given(self, frame: Frame) -> None:
        """Note a frame before the service gets it, downstream."""

    def given_again(self, frame: Frame) -> None:
        """Note a frame before another service gets it, which the one before got too."""
        self.given(frame)

    async def gave(self, frame: Frame) -> bool:
        """Note a frame of the service, downstream; returns whether it goes on from here."""
        raise NotImplementedError

    def replay(self) -> list[Frame]:
        """Return what another service is given to do what is still owed."""
        return [kept.frame for kept in self.journal]

    def is_failure(self, error: ErrorFrame) -> bool:
        """Return whether the service's error is one of its own."""
        return error.category is not ErrorCategory.APPLICATION

    async def left(self, *, for_good: bool) -> None:
        """Close what a service left open when it failed; `for_good`: no other follows."""

    # Frames.

    async def setup(self, setup: FrameProcessorSetup) -> None:  # type: ignore[override]
        """Begin to connect, beside the other processors."""
        await super().setup(setup)
        if self._branch:
            self._beginning = self._spawn(self._begin(self._branch))

    async def cleanup(self) -> None:
        """Throw away the service at work."""
        self._is_over = True
        self._clear_alarms()
        while running := [task for task in self._tasks if not task.done()]:
            for task in running:
                await self.cancel_task(task)
        branch, self._branch = self._branch, None
        left = {*self._discarded, branch} if branch else set(self._discarded)
        await asyncio.gather(*(one.close() for one in left))
        await super().cleanup()  # type: ignore[no-untyped-call]

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Give the service what comes, and keep what it owes."""
        await super().process_frame(frame, direction)
        if isinstance(frame, StartFrame):
            self._start = frame
            await self.push_frame(frame, direction)
            self._started.set()
        elif isinstance(frame, CancelFrame):
            self._is_over = True
            self._clear_alarms()
            await self._give_through(frame, direction)
        elif direction is FrameDirection.UPSTREAM:
            if isinstance(frame, self.from_behind) and not self._is_over:
                self.given(frame)
                self.journal.keep(frame, is_owed=True, passed=True)
            await self._give_through(frame, direction)
        elif self._is_over:
            if not isinstance(frame, self.consumed):
                await self.push_frame(frame, direction)
        else:
            await self._give(frame)

    async def _give_through(self, frame: Frame, direction: FrameDirection) -> None:
        """Pass a frame on that waits for nobody, by way of the service if that is there."""
        branch = self._branch
        is_ready = branch is not None and branch.is_ready
        if branch is not None and is_ready:
            await branch.send(frame, direction)
        if not is_ready or isinstance(frame, CancelFrame):
            await self.push_frame(frame, direction)

    async def _give(self, frame: Frame) -> None:
        branch = self._branch
        is_ready = branch is not None and branch.is_ready
        if isinstance(frame, InterruptionFrame):
            self.journal.interrupt()
            self.disarm()
        if isinstance(frame, EndFrame):
            self._set_alarm(_END, self.patience.end_s, self._end_anyway)
        self.given(frame)
        is_owed, is_system = self.owes(frame), isinstance(frame, SystemFrame)
        if isinstance(frame, self.updates):
            self._settings.append((self._last, frame))
        elif is_owed or not is_system:
            self.journal.keep(frame, is_owed=is_owed, passed=is_system and not is_ready)
        if branch is not None and is_ready:
            await branch.send(frame)
            if self.journal.is_full:
                self.fail("does not get done what it is given")
        elif is_system:
            await self.push_frame(frame)

    async def _came(self, branch: Branch, frame: Frame, direction: FrameDirection) -> None:
        """Take what a service pushes; the last words of one that was thrown away are dropped."""
        if isinstance(frame, StartFrame | CancelFrame):
            return
        if branch is not self._branch:
            return
        if direction is FrameDirection.UPSTREAM:
            if isinstance(frame, ErrorFrame) and frame.processor is branch.service and self.is_failure(frame):
                permanent = not branch.service.is_usable or bool(frame.category and frame.category.is_permanent)
                self.fail(frame.error, permanently=permanent)
            else:
                await self.push_frame(frame, direction)
        elif self.journal.passes(frame) and await self.gave(frame):
            if isinstance(frame, EndFrame):
                self._clear_alarms()
            elif _END in self._alarms:
                self._set_alarm(_END, self.patience.end_s, self._end_anyway)
            await self.push_frame(frame, direction)

    # Time.

    @property
    def is_expecting(self) -> bool:
        """Whether the service is to give something in time."""
        return _ANSWER in self._alarms

    def expect(self) -> None:
        """Let the service fail if it gives nothing for as long as the patience lasts; each call begins anew.

        One that is not connected yet has the time for that first.
        """
        if self._branch and self._branch.is_connected:
            self.arm(self.patience.answer_s, self._hung)

    def arm(self, seconds: float, alarm: Callable[[], None]) -> None:
        """Call `alarm` after `seconds`, unless this is called again or disarmed before."""
        self._set_alarm(_ANSWER, seconds, alarm)

    def disarm(self) -> None:
        """Expect nothing."""
        self._clear_alarm(_ANSWER)

    def _set_alarm(self, name: str, seconds: float, alarm: Callable[[], None]) -> None:
        self._clear_alarm(name)
        self._alarms[name] = self.get_event_loop().call_later(seconds, alarm)

    def _clear_alarm(self, name: str) -> None:
        if alarm := self._alarms.pop(name, None):
            alarm.cancel()

    def _clear_alarms(self) -> None:
        for name in (_ANSWER, _CONNECT, _END):
            self._clear_alarm(name)

    def _hung(self) -> None:
        self.fail(f"gave nothing for {self.patience.answer_s:g} s")

    def _unconnected(self) -> None:
        self.fail(f"was not connected within {self.patience.connect_s:g} s")

    def _end_anyway(self) -> None:
        self._spawn(self._give_up(f"{self.what} did not end in time."))

    # Replacing.

    def succeeded(self) -> None:
        """Note that the service did what it owed."""
        self._last.failures = 0
        self._outages.succeeded(self._last.name)

    def fail(self, reason: str, *, permanently: bool = False, is_fault: bool = True) -> None:
        """Throw away the service at work, and go on with the next.

        With `permanently` it is not tried again; without `is_fault` it does not count against it.
        """
        branch, self._branch = self._branch, None
        if branch is None or self._is_over:
            return
        self._clear_alarm(_ANSWER)
        self._clear_alarm(_CONNECT)
        if is_fault:
            branch.candidate.failed(permanently=permanently)
            if not permanently:
                self._outages.failed(branch.candidate.name)
        logger.warning("%s: %s", branch.candidate.name, self._reasons.note(branch.candidate.name, reason))
        self._spawn(self._replace(branch))

    async def _replace(self, failed: Branch) -> None:
        if self._beginning:
            await self.cancel_task(self._beginning)
        self._discard(failed)
        await self.left(for_good=False)
        while (candidate := following(self._candidates, failed.candidate)) is not None:
            await asyncio.sleep(candidate.pause_s)
            try:
                # Clients read certificates when they are made, which would hold up other calls.
                service = await asyncio.to_thread(candidate.build)
            except ProviderError as error:
                self._cannot_be_built(candidate, error)
                continue
            branch = Branch(candidate, service, self._came)
            if self._is_over:  # the call ended meanwhile, and nobody would close it any more
                await branch.close()
                return
            self._branch, self._last = branch, candidate
            self._beginning = self._spawn(self._begin(branch))
            return
        await self._give_up(f"{self.what} is lost. {self._reasons}")

    async def _begin(self, branch: Branch) -> None:
        """Connect a service, and give it what is owed."""
        self._set_alarm(_CONNECT, self.patience.connect_s, self._unconnected)
        await branch.connect(self.processor_setup)
        self._clear_alarm(_CONNECT)
        await self._started.wait()
        if self._start is None or branch is not self._branch:
            return
        await branch.send(self._start)
        branch.is_connected = True
        for candidate, update in self._settings:
            if candidate is branch.candidate or type(update.delta) in _COMMON_SETTINGS:
                await branch.send(update)
        for frame in self.replay():
            self.given_again(frame)
            await branch.send(frame)
        branch.is_ready = True

    async def _give_up(self, reason: str) -> None:
        """Report that nothing is left; whoever reads the error says something, if that is possible, and hangs up."""
        branch, self._branch, self._is_over = self._branch, None, True
        self._clear_alarms()
        if branch:
            self._discard(branch)
        await self.left(for_good=True)
        for frame in self.journal.clear():
            await self.push_frame(frame)
        await self.push_error(reason, force_treat_as_permanent=True)

    def _discard(self, branch: Branch) -> None:
        """Throw a service away beside the call, whose end closes it if that takes longer."""

        async def discard() -> None:
            await branch.throw_away()
            self._discarded.discard(branch)

        self._discarded.add(branch)
        self._spawn(discard())

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task: asyncio.Task[None] = self.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
