"""What the legs of this package share: a line's events and its end, an arrival's decision, and a web server's door."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Generic, TypeVar

from aiohttp import web

from .leg import (
    Answered,
    Arrival,
    Ended,
    LegError,
    Line,
    LineEvent,
    Outcome,
    Party,
    Ringing,
    TransferMode,
    Transferred,
    until_ended,
)

_log = logging.getLogger(__name__)

OK = 200
FORBIDDEN = 403
UNAVAILABLE = 480
REFUSALS = range(400, 700)
_SHUTDOWN_S = 2.0


class BaseLine(Line):
    """A `Line` with its events and its end; `_hang_up` and `_close` are a leg's own part."""

    def __init__(self) -> None:
        """Begin a line that neither rings nor is answered."""
        self.on_ended: list[Callable[[Ended], None]] = []
        self._queue: asyncio.Queue[LineEvent] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ringing: Ringing | None = None
        self._answered = False
        self._ended: Ended | None = None
        # Set before we hang up: what the network then says does not tell the customer's end from ours.
        self._ending: Outcome | None = None
        self._patience: asyncio.TimerHandle | None = None

    @property
    def events(self) -> AsyncIterator[LineEvent]:
        """Everything that happens, for one reader; ends after `Ended`."""
        return until_ended(self._queue)

    @property
    def is_up(self) -> bool:
        """Whether it is answered and not over."""
        return self._answered and self._ended is None

    def ringing(self, *, early_media: bool = False) -> None:
        """Note that it rings; the same word twice is one event."""
        ringing = Ringing(early_media)
        if not self._answered and self._ended is None and ringing != self._ringing:
            self._ringing = ringing
            self._queue.put_nowait(ringing)

    def answered(self) -> None:
        """Note that audio flows."""
        if self._answered or self._ended is not None:
            return
        self._be_patient(None)
        self._answered = True
        self._queue.put_nowait(Answered())

    def answer_within(self, seconds: float, by: Party, outcome: Outcome, detail: str) -> None:
        """End the line like this if it was not answered by then: the word of it may be lost."""
        self._be_patient(asyncio.get_running_loop().call_later(seconds, self.end, by, outcome, detail))

    def end(self, by: Party, outcome: Outcome, detail: str, status: int | None = None) -> None:
        """Note the end; the first word counts."""
        if self._ended is not None:
            return
        if self._ending is not None:
            by, outcome, status = "assistant", self._ending, None
        self._ended = Ended(by, outcome, status, detail)
        self._be_patient(None)
        self._close(self._ended)
        self._queue.put_nowait(self._ended)
        for listener in self.on_ended:
            listener(self._ended)

    async def hangup(self) -> None:
        """End the line, answered or not; does nothing on one that is over."""
        if self._ended is not None:
            return
        self._ending = Outcome.COMPLETED if self._answered else Outcome.CANCELLED
        await self._hang_up()
        self.end("assistant", self._ending, "")

    async def _hang_up(self) -> None:
        """Tell the network."""

    def _close(self, ended: Ended) -> None:
        """Free what the line holds, and report what must come before its end."""

    def _be_patient(self, timer: asyncio.TimerHandle | None) -> None:
        if self._patience is not None:
            self._patience.cancel()
        self._patience = timer

    def _require_up(self) -> None:
        if not self.is_up:
            raise LegError("the line is not up")

    async def _transfer_blind(
        self, to: str, mode: TransferMode, consultation: Line | None, ask: Callable[[], Coroutine[Any, Any, None]]
    ) -> Transferred:
        """Hand the customer over by asking the network, after which our part of the call is over.

        Raises:
            LegError: the line is not up, or more than a number is asked for.
        """
        self._require_up()
        if mode != "blind" or consultation is not None:
            raise LegError("this leg transfers blind only")
        if not to.removeprefix("+").isalnum():
            raise LegError(f"{to!r} cannot be dialed")
        try:
            await ask()
        except LegError as error:
            result = Transferred(to, "failed", str(error))
            self._queue.put_nowait(result)
            return result
        result = Transferred(to, "accepted")
        if self._ended is None:
            self._queue.put_nowait(result)
        self.end("assistant", Outcome.TRANSFERRED, "")
        return result

    async def settled(self) -> None:
        """Wait for what is still done for the line, after its end."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine from a callback; the loop holds tasks weakly, so they are kept until they are done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


L = TypeVar("L", bound=BaseLine)


class BaseArrival(Arrival, Generic[L]):
    """An `Arrival` whose network waits for one decision: a status, 200 to answer."""

    def __init__(self, line: L, *, from_: str, to: str = "", trunk_id: str = "", token: str = "") -> None:
        """Take over a line that rings here."""
        self._decision: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._line = line
        self._from, self._to, self._trunk_id, self._token = from_, to, trunk_id, token
        line.on_ended.append(lambda _: self._decide(UNAVAILABLE))

    @property
    def line(self) -> L:
        """Its line."""
        return self._line

    @property
    def from_(self) -> str:
        """The caller, of a browser the page's origin."""
        return self._from

    @property
    def to(self) -> str:
        """The called number; empty of a browser, whose token says it."""
        return self._to

    @property
    def external_id(self) -> str:
        """As of the line."""
        return self._line.external_id

    @property
    def trunk_id(self) -> str:
        """The trunk that let the call in; empty of a browser."""
        return self._trunk_id

    @property
    def token(self) -> str:
        """What a browser showed; empty of telephones."""
        return self._token

    async def ring(self) -> None:
        """Do nothing: the network rings, or a page knows that it waits."""

    async def answer(self) -> Line:
        """Answer."""
        if self._decision.done():
            raise LegError("the caller has gone")
        self._decision.set_result(OK)
        return self._line

    async def reject(self, status: int = 486) -> None:
        """Refuse; with 403 where the status refuses nothing."""
        self._decide(status if status in REFUSALS else FORBIDDEN)

    def _decide(self, status: int) -> None:
        if not self._decision.done():
            self._decision.set_result(status)

    async def decided(self, within_s: float, otherwise: int = UNAVAILABLE) -> int:
        """Return the decision; `otherwise` where none came in time. A line that was not answered is over then."""
        try:
            status = await asyncio.wait_for(asyncio.shield(self._decision), within_s)
        except TimeoutError:
            status = otherwise
        except asyncio.CancelledError:
            self.leave()
            raise
        if status != OK:
            self._line.end("assistant", Outcome.REJECTED, str(status))
        return status

    def leave(self) -> None:
        """Note that the caller gave up."""
        self._line.end("customer", Outcome.CANCELLED, "the caller hung up")


class Doorway(Generic[L]):
    """What a leg with a web server has: its port, its lines, and the queue of its arrivals."""

    def __init__(self, name: str) -> None:
        """Begin with no line; `name` is for logs and errors."""
        self.lines: set[L] = set()
        self.refused: Counter[str] = Counter()
        self._name = name
        self._arrivals: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._runner: web.AppRunner | None = None

    async def open(self, app: web.Application, host: str, port: int) -> None:
        """Open the port.

        Raises:
            LegError: it is not to be had.
        """
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SHUTDOWN_S, handler_cancellation=True)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, host, port).start()
        except OSError as error:
            await self._runner.cleanup()
            raise LegError(f"the port of {self._name} is not to be had: {error}") from error

    def adopt(self, line: L) -> None:
        """Keep a line until it is over."""
        self.lines.add(line)
        line.on_ended.append(lambda _: self.lines.discard(line))

    def arrive(self, arrival: Arrival) -> None:
        """Queue a call to us."""
        self._arrivals.put_nowait(arrival)

    async def arrivals(self) -> AsyncIterator[Arrival]:
        """Calls to us, until the door is closed."""
        while (arrival := await self._arrivals.get()) is not None:
            yield arrival

    async def close(self) -> None:
        """Hang up all lines and close the port."""
        for line in tuple(self.lines):
            try:
                await line.hangup()
            except LegError as error:
                _log.warning("a call of %s could not be ended: %s", self._name, error)
                line.end("engine", Outcome.FAILED, str(error))
        if self._runner is not None:
            await self._runner.cleanup()
        self._arrivals.put_nowait(None)
