"""An engine: claims calls from the service, keeps their leases, and hands them to a conversation.

async with Engine(url, token, name="desk-1") as engine:
    async for call in engine.calls():
        asyncio.create_task(converse(call))
"""

import asyncio
import logging
import platform
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Self
from weakref import WeakSet

from .. import __version__
from .arrivals import Arrivals
from .backoff import Backoff
from .call import Call
from .calls import RunningCalls
from .checks import Checks, TrunkCheck
from .claims import ClaimFilter, Claims
from .ending import end
from .errors import NotFoundError, ProtocolError, TemporaryError
from .heartbeat import Heartbeat, TrunkReports
from .lease import Lease
from .service import Service
from .timing import Timing
from .wire import PROTOCOL, Claimed, ServiceInfo, Trunks

_log = logging.getLogger(__name__)

_STOP_SECONDS = 5.0
"""How long a stopping engine waits for the service to take the last events."""


class Engine:
    """An engine, attached to the service while it is entered as an async context manager."""

    def __init__(
        self,
        url: str,
        token: str,
        *,
        name: str,
        capacity: int = 5,
        modes: Sequence[str] = (),
        legs: Sequence[str] = (),
        only: ClaimFilter | None = None,
        web_url: str | None = None,
        host: str | None = None,
        version: str = __version__,
        load: Callable[[], float] | None = None,
        timing: Timing | None = None,
    ) -> None:
        """Describe the engine; `ValueError` for a URL or token that cannot be one.

        `name` is the engine's own among those of its token, 1 to 64 characters. `capacity` counts calls. `modes` are
        those that it carries, all if empty. `legs` names the ways on which calls reach it, such as `sip`. `web_url` is
        where a browser reaches its WebRTC leg. `load` returns 0 (idle) to 1 (full); by default the used capacity.
        """
        self.name = name
        self.info: ServiceInfo | None = None
        """What the service says of itself, once the engine is attached."""
        self._timing = timing or Timing()
        self._service = Service(url, token)
        self._calls = RunningCalls(capacity)
        self._legs = list(legs)
        self._web_url = web_url
        self._host = host or platform.node()
        self._version = version
        self._load = load or self._used_capacity
        self._arrivals = Arrivals(self._service, self._timing)
        self._checks = Checks(self._service, self._timing)
        self._claims = Claims(
            self._service,
            self._calls,
            self._checks,
            self._timing,
            name=name,
            modes=modes,
            only=only or ClaimFilter(),
            take=self._take_claimed,
        )
        self._heartbeat = Heartbeat(
            self._service, self._calls, self._timing, about=self._about, on_drain=self._drain_asked
        )
        self._claimed: asyncio.Queue[Call | None] = asyncio.Queue()
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []
        # Those with pending events are alive by their delivery.
        self._past: WeakSet[Call] = WeakSet()
        self._delivered = 0
        self._is_draining = False

    async def __aenter__(self) -> Self:
        """Wait for the service, and attach to it.

        Raises `UnauthenticatedError` for a wrong token, `ProtocolError` where the service speaks edition 1 only.
        """
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._service)
            self.info = await self._greet()
            self._stack = stack.pop_all()
        self._tasks = [
            asyncio.create_task(self._keep(self._claims.run), name="claims"),
            asyncio.create_task(self._keep(self._heartbeat.run), name="heartbeat"),
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give back the calls that were not dialed, fail the others, and deliver what is pending, for at most 5 s."""
        self.drain()
        await end((*self._tasks, *self._checks.tasks))
        try:
            async with asyncio.timeout(_STOP_SECONDS), asyncio.TaskGroup() as group:
                for call in self._calls:
                    group.create_task(call.release("the engine stops"))
                for call in tuple(self._past):
                    group.create_task(call.flush())
        except TimeoutError:
            _log.warning("the service does not take the last events")
        for call in (*self._calls, *self._past):
            call.abandon("the engine stops")
        await self._stack.aclose()

    @property
    def running(self) -> Sequence[Call]:
        """The calls that run."""
        return tuple(self._calls)

    @property
    def room(self) -> int:
        """Calls that the engine may take besides; 0 while it is drained."""
        return 0 if self.is_draining else self._calls.room

    @property
    def is_draining(self) -> bool:
        """Whether it takes no more calls."""
        return self._is_draining or self._claims.is_draining

    @property
    def claimed_calls(self) -> int:
        """Calls claimed so far."""
        return self._claims.claimed

    @property
    def pending_events(self) -> int:
        """Events that the service does not have yet."""
        return sum(call.pending_events for call in (*self._calls, *self._past))

    @property
    def delivered_events(self) -> int:
        """Events that the service has, of all calls so far."""
        return self._delivered

    @property
    def heartbeat_age(self) -> float | None:
        """Seconds since the last heartbeat that was answered; None before the first."""
        return self._heartbeat.age

    async def calls(self) -> AsyncIterator[Call]:
        """Return claimed calls as they come, until the engine is drained; for one reader.

        Raises `UnauthenticatedError` or `ForbiddenError` when the service no longer takes the token.
        """
        while (call := await self._claimed.get()) is not None:
            yield call
        # Another iteration must end as well.
        self._claimed.put_nowait(None)
        for task in self._tasks:
            if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                raise error

    async def inbound(
        self, caller: str | None, to: str, *, external_id: str | None = None, trunk_id: int | None = None
    ) -> Call:
        """Bring an inbound call, and return it; see `Arrivals.inbound` for arguments and errors.

        It counts as running, but `calls()` does not return it. Look at `room` first.
        """
        return self._take(await self._arrivals.inbound(caller, to, external_id=external_id, trunk_id=trunk_id))

    async def web(
        self,
        *,
        token: str | None = None,
        assistant_id: int | None = None,
        external_id: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> Call:
        """Bring a web call, and return it; see `Arrivals.web` for arguments and errors."""
        return self._take(
            await self._arrivals.web(
                token=token, assistant_id=assistant_id, external_id=external_id, variables=variables
            )
        )

    def trunks(self) -> AsyncIterator[Trunks]:
        """Return the trunks of the token's accounts, and again whenever they change."""
        return self._arrivals.trunks()

    def check_trunks_by(self, check: TrunkCheck) -> None:
        """Have trunks checked when a user asks for it; tell it before the engine is entered."""
        self._checks.check = check

    def report_trunks(self, reports: TrunkReports) -> None:
        """Have each heartbeat tell how the registrations of trunks are that this engine keeps."""
        self._heartbeat.trunks = reports

    def drain(self) -> None:
        """Take no more calls: `calls()` ends; those that run go on, and `drained()` waits for them."""
        if not self._is_draining:
            self._is_draining = True
            self._claims.drain(on=True)
            self._claimed.put_nowait(None)

    async def drained(self) -> None:
        """Wait until no call runs."""
        await self._calls.empty()

    async def _greet(self) -> ServiceInfo:
        """Ask the service what it speaks, and wait for it to come up: containers start in any order."""
        backoff = Backoff(self._timing.backoff_first, self._timing.backoff_most)
        while True:
            try:
                info = ServiceInfo.read(await self._service.get("/engine", timeout=self._timing.answer))
            except NotFoundError:
                info = None
            except TemporaryError as error:
                _log.warning("waiting for the service: %s", error)
                await asyncio.sleep(backoff.pause(error))
                continue
            if info is None or info.protocol < PROTOCOL:
                message = (
                    f"The service at {self._service.url} speaks only edition 1 of the engine interface, or is none; "
                    f"this engine needs edition {PROTOCOL}. Update the service, or correct the URL."
                )
                raise ProtocolError(message)
            _log.info("attached to the service, release %s, as %s", info.release, self.name)
            return info

    async def _keep(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run a task of the engine; when it fails, whoever reads `calls()` learns of it."""
        try:
            await work()
        except Exception:
            self._is_draining = True
            self._claimed.put_nowait(None)
            raise

    def _about(self) -> Mapping[str, Any]:
        draining = self.is_draining
        about = {
            "engine": self.name,
            "protocol": PROTOCOL,
            "load": round(self._load(), 3),
            "version": self._version,
            "host": self._host,
            "capacity": 0 if draining else self._calls.capacity,
            "running": len(self._calls),
            "legs": self._legs,
            "web_url": self._web_url,
        }
        return {name: value for name, value in about.items() if value is not None}

    def _used_capacity(self) -> float:
        return len(self._calls) / max(1, self._calls.capacity)

    def _drain_asked(self, drain: bool) -> None:
        """The operator drains this engine at the service, or lets it go on."""
        if not self._is_draining and drain != self._claims.is_draining:
            _log.info("the operator %s", "drains this engine" if drain else "lets this engine take calls again")
            self._claims.drain(on=drain)

    async def _take_claimed(self, claimed: Claimed) -> None:
        known = self._calls.find(claimed.call.id)
        if known is not None:
            known.lose("its lease ran out, and it was handed out anew")
        call = self._take(claimed)
        if self._is_draining:
            await call.release("the engine is draining")
        else:
            self._claimed.put_nowait(call)

    def _take(self, claimed: Claimed) -> Call:
        known = self._calls.find(claimed.call.id)
        if known is not None:
            return known
        seconds = self.info.lease_seconds if self.info is not None else 30.0
        call = Call(
            self._service,
            claimed,
            lease=Lease(seconds),
            timing=self._timing,
            on_over=self._see_off,
            on_delivered=self._count_delivered,
        )
        self._calls.add(call)
        return call

    def _see_off(self, call: Call) -> None:
        """Free the room of a call; its last events are still on their way."""
        self._calls.remove(call)
        self._past.add(call)

    def _count_delivered(self, events: int) -> None:
        self._delivered += events
