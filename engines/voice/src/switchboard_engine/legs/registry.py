"""The legs of a worker: which one carries a call, and what is done with the calls that come in.

A conversation gets at them by `Legs.current()`. A call that came in has its arrival there (`arrival_of`), any other is
dialed:

    legs = Legs.current()
    arrival = legs.arrival_of(call.id)
    line = await legs.dial(Telephony.from_api(call.telephony.raw)) if arrival is None else arrival.line
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import AsyncExitStack
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from ..client import (
    Call,
    CheckStep,
    ConflictError,
    Engine,
    ForbiddenError,
    NotFoundError,
    ServiceError,
    TemporaryError,
    TrunkReport,
    Trunks,
)
from ..client import Telephony as ClaimedTelephony
from ..client.ending import end
from ..client.heartbeat import RegistrationState
from ..plugs import Handler, load
from ..settings import WorkerSettings
from . import settings as leg_settings
from .leg import RING_TIMEOUT_S, Arrival, Leg, LegError, Line, Telephony, TrunkChecker, TrunkState, TrunkStatus

_log = logging.getLogger(__name__)

_CLASSES = {
    "asterisk": "switchboard_engine.legs.asterisk.leg:AsteriskLeg",
    "sip": "switchboard_engine.legs.sip.leg:SipLeg",
    "telnyx": "switchboard_engine.legs.telnyx.leg:TelnyxLeg",
    "twilio": "switchboard_engine.legs.twilio.leg:TwilioLeg",
    "web": "switchboard_engine.legs.web.leg:WebLeg",
}
_FULL = 503
_GONE = 480
_LOOP = 482
# How an arrival is refused that the service does not take: SIP statuses, which the legs translate.
_REFUSALS: dict[type[ServiceError], tuple[str, int]] = {
    NotFoundError: ("number", 404),
    ForbiddenError: ("trunk", 403),
    ConflictError: ("over", 409),
    TemporaryError: ("service", 503),
}

_REPORTED: dict[TrunkState, RegistrationState] = {
    TrunkState.REGISTERED: "registered",
    TrunkState.LOST: "unreachable",
    TrunkState.REFUSED: "refused",
    TrunkState.WRONG_CREDENTIALS: "refused",
}

_current: ContextVar["Legs"] = ContextVar("legs")


class Legs:
    """Started while entered: brings each arrival to the service, and has the handler carry it."""

    def __init__(
        self,
        engine: Engine,
        handle: Handler,
        legs: Mapping[str, Leg],
        *,
        trunk_ids: Iterable[int] = (),
        share: tuple[int, int] = (1, 1),
    ) -> None:
        """Take the legs by the kind of trunk that each carries.

        `trunk_ids` are those whose calls are let in, all if empty. `share` is (number, of): registrations of trunks are
        dealt out among workers, since two that register the same one would both be called.
        """
        self.trunks: dict[str, TrunkStatus] = {}
        """What is known of each trunk, by its id."""
        self._engine = engine
        self._handle = handle
        self._legs = dict(legs)
        self._trunk_ids = frozenset(trunk_ids)
        self._share = share
        self._arrivals: dict[int, Arrival] = {}
        self._known: dict[str, Telephony] = {}
        self._bringing = 0
        self._refused: dict[str, Counter[str]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()

    @property
    def refused(self) -> dict[str, dict[str, int]]:
        """How many calls to us were not taken, by leg and reason.

        Besides the reasons of the legs themselves: `full`, `number` (nobody holds it), `trunk` (it is not that
        number's), `over`, `twice` and `service` (it did not answer).
        """
        counts = {name: Counter(leg.refused) for name, leg in self._legs.items()}
        for name, refused in self._refused.items():
            counts[name].update(refused)
        return {name: dict(count) for name, count in counts.items() if count}

    @property
    def trunk_states(self) -> dict[str, str]:
        """The state of each trunk of which one is known."""
        return {trunk_id: str(status.state) for trunk_id, status in self.trunks.items()}

    @property
    def trunk_reports(self) -> list[TrunkReport]:
        """How the registrations are that this worker keeps, for the service."""
        kept = [(trunk, self.trunks.get(trunk.trunk_id)) for trunk in self._known.values() if trunk.register]
        return [
            TrunkReport(int(status.trunk_id), _REPORTED[status.state], status.detail)
            for trunk, status in kept
            if status is not None and trunk.trunk_id.isdecimal()
        ]

    @property
    def can_check(self) -> bool:
        """Whether there is a leg that checks trunks."""
        return any(isinstance(leg, TrunkChecker) for leg in self._legs.values())

    async def check(self, trunk: ClaimedTelephony) -> list[CheckStep]:
        """Check a trunk on the leg of its kind."""
        try:
            known = Telephony.from_api(trunk.raw)
            leg = self.for_kind(known.kind)
        except (ValueError, TypeError, LegError) as error:
            return [CheckStep("resolve", ok=False, detail=f"The trunk cannot be used: {error}.")]
        if not isinstance(leg, TrunkChecker):
            return [CheckStep("resolve", ok=False, detail=f"not tried: this engine checks no trunks of {known.kind}")]
        return await leg.check(known)

    @staticmethod
    def current() -> "Legs":
        """Return the legs of the worker that this task belongs to; `LegError` where none are run."""
        try:
            return _current.get()
        except LookupError as error:
            raise LegError("this engine runs no legs: name them with --leg") from error

    async def __aenter__(self) -> Self:
        """Open the legs' ports; raises `LegError`."""
        async with AsyncExitStack() as stack:
            for leg in self._legs.values():
                stack.push_async_callback(leg.stop)
                await leg.start()
            self._stack = stack.pop_all()
        _current.set(self)
        for name, leg in self._legs.items():
            self._spawn(self._receive_all(name, leg))
        self._spawn(self._follow_trunks())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Hang up what is left, and close the ports."""
        await end(tuple(self._tasks))
        await self._stack.aclose()

    def for_kind(self, kind: str) -> Leg:
        """Return the leg that carries a kind of trunk, such as `sip`; `LegError` where none does.

        Trunks of SIP go through an Asterisk where no leg of SIP is run.
        """
        leg = self._legs.get(kind) or (self._legs.get("asterisk") if kind == "sip" else None)
        if leg is None:
            raise LegError(f"no leg of this engine carries {kind or 'calls without telephony'}")
        return leg

    async def dial(self, telephony: Telephony, to: str = "", *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Call a number on the leg of its trunk: the one of `telephony`, or `to`; raises `LegError`."""
        leg = self.for_kind(telephony.kind)
        return await leg.dial(telephony, to or telephony.dial, ring_timeout_s=ring_timeout_s)

    def arrival_of(self, call_id: int) -> Arrival | None:
        """Return the arrival of a call that came in and still runs; None of one that was claimed."""
        return self._arrivals.get(call_id)

    def on_trunk(self, status: TrunkStatus) -> None:
        """Note a change of a trunk's state."""
        level = logging.INFO if status.state is TrunkState.REGISTERED else logging.WARNING
        _log.log(level, "trunk %s: %s %s", status.trunk_id, status.state, status.detail)
        self.trunks[status.trunk_id] = status

    def add(self, kind: str, leg: Leg) -> None:
        """Add a leg, before they are started."""
        self._legs[kind] = leg

    async def _receive_all(self, name: str, leg: Leg) -> None:
        try:
            async for arrival in leg.incoming():
                self._spawn(self._receive(name, arrival))
        except LegError as error:
            # The worker ends when its calls have, and another is started: a leg cannot be begun anew in this process.
            _log.critical("the leg %s takes no more calls: %s", name, error)
            self._engine.drain()

    async def _receive(self, leg: str, arrival: Arrival) -> None:
        """Have a call that came in carried, from its ringing to its end."""
        if self._engine.room <= self._bringing:
            await self._refuse(leg, arrival, "full", _FULL)
            return
        self._bringing += 1
        try:
            call = await self._bring(arrival)
        except ServiceError as error:
            _log.warning("a call to %s was not taken: %s", arrival.to or "the web door", error)
            reason, status = next((how for kind, how in _REFUSALS.items() if isinstance(error, kind)), ("service", 500))
            await self._refuse(leg, arrival, reason, status)
            return
        finally:
            self._bringing -= 1
        if call.id in self._arrivals:
            await self._refuse(leg, arrival, "twice", _LOOP)
            return
        self._arrivals[call.id] = arrival
        try:
            await self._handle(call)
        finally:
            del self._arrivals[call.id]
            await self._see_off(arrival)

    async def _refuse(self, leg: str, arrival: Arrival, reason: str, status: int) -> None:
        self._refused.setdefault(leg, Counter())[reason] += 1
        await arrival.reject(status)

    async def _bring(self, arrival: Arrival) -> Call:
        if arrival.token:
            return await self._engine.web(token=arrival.token, external_id=arrival.external_id)
        trunk_id = int(arrival.trunk_id) if arrival.trunk_id.isdecimal() else None
        return await self._engine.inbound(
            arrival.from_ or None, arrival.to, external_id=arrival.external_id, trunk_id=trunk_id
        )

    async def _see_off(self, arrival: Arrival) -> None:
        """See that a caller does not stay on a line that nobody carries."""
        try:
            await arrival.reject(_GONE)
            await arrival.line.hangup()
        except LegError as error:
            _log.warning("a line could not be hung up: %s", error)

    async def _follow_trunks(self) -> None:
        try:
            async for trunks in self._engine.trunks():
                known = self._read(trunks)
                self._forget_changed(known)
                for leg in self._legs.values():
                    await leg.set_trunks(known)
        except ServiceError as error:
            _log.warning("calls come in by no trunk: the service does not tell them (%s)", error)

    def _forget_changed(self, trunks: Iterable[Telephony]) -> None:
        """Forget what was known of trunks that are gone or were changed."""
        known = {trunk.trunk_id: trunk for trunk in trunks}
        for trunk_id in set(self._known) | set(known):
            if known.get(trunk_id) != self._known.get(trunk_id):
                self.trunks.pop(trunk_id, None)
        self._known = known

    def _read(self, trunks: Trunks) -> tuple[Telephony, ...]:
        known = []
        number, of = self._share
        for entry in trunks.trunks:
            if self._trunk_ids and entry.trunk_id not in self._trunk_ids:
                continue
            try:
                trunk = Telephony.from_api(entry.raw)
            except (ValueError, TypeError) as error:
                _log.warning("trunk %s cannot be used: %s", entry.trunk_id, error)
                continue
            is_ours = (entry.trunk_id or 0) % of == number - 1
            known.append(trunk if is_ours else replace(trunk, register=False))
        return tuple(known)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a task of the legs failed", exc_info=error)


def legs_of(settings: WorkerSettings, engine: Engine, handle: Handler) -> Legs:
    """Return the named legs of a worker; raises `PlugError` where one cannot be loaded."""
    legs = Legs(engine, handle, {}, trunk_ids=settings.trunk_ids, share=(settings.number, settings.workers))
    for name, members in settings.named_legs.items():
        read = leg_settings.read(name, members).for_worker(settings.number, settings.workers)
        legs.add(name, load(_CLASSES[name])(read, legs.on_trunk))
    engine.report_trunks(lambda: legs.trunk_reports)
    if legs.can_check:
        engine.check_trunks_by(legs.check)
    return legs
