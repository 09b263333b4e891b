"""One heartbeat for all calls of an engine: renews their leases, learns which are lost, and brings commands."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal, TypeVar

from .backoff import Backoff
from .calls import RunningCalls
from .errors import ForbiddenError, ServiceError, UnauthenticatedError
from .service import Service
from .timing import Timing
from .wire import read_commands

T = TypeVar("T")

_log = logging.getLogger(__name__)

_CALLS_MAX = 10_000
"""Most calls that one heartbeat may name."""
TRUNKS_MAX = 500
"""Most trunks that one heartbeat tells of: it may 1,000, but with as many calls must stay below 1 MiB."""
_DETAIL_MAX = 200


RegistrationState = Literal["registered", "refused", "unreachable"]


@dataclass(frozen=True, slots=True)
class TrunkReport:
    """How the registration of a trunk is; `detail` is a short sentence for the user, without a password."""

    trunk_id: int
    state: RegistrationState
    detail: str = ""


TrunkReports = Callable[[], Sequence[TrunkReport]]


class Heartbeat:
    """Sends heartbeats until it is cancelled; `about` returns what it says besides the calls and the trunks."""

    def __init__(
        self,
        service: Service,
        calls: RunningCalls,
        timing: Timing,
        *,
        about: Callable[[], Mapping[str, Any]],
        on_drain: Callable[[bool], None],
    ) -> None:
        self._service = service
        self._calls = calls
        self._timing = timing
        self._about = about
        self._on_drain = on_drain
        self._answered_at: float | None = None
        self.trunks: TrunkReports = tuple
        """Returns how the registrations are."""

    @property
    def age(self) -> float | None:
        """Seconds since the last heartbeat that was answered was sent; None before the first."""
        return None if self._answered_at is None else time.monotonic() - self._answered_at

    async def run(self) -> None:
        """Beat for ever; raises `UnauthenticatedError` or `ForbiddenError` when the token is none for this."""
        backoff = Backoff(self._timing.backoff_first, min(self._timing.backoff_most, self._timing.heartbeat / 4))
        while True:
            started = time.monotonic()
            try:
                await self.beat()
            except (UnauthenticatedError, ForbiddenError):
                raise
            except ServiceError as error:
                _log.warning("a heartbeat failed: %s", error)
                self._lose_expired()
                await asyncio.sleep(backoff.pause(error))
                continue
            backoff.reset()
            await asyncio.sleep(max(0.0, started + self._timing.heartbeat - time.monotonic()))

    async def beat(self) -> None:
        """Send one heartbeat, in several requests where there is much to tell, and act on the answers."""
        sent_at = time.monotonic()
        # A call that is claimed while this request runs is not in it, and must not count as renewed by it.
        named = {call.id: call for call in self._calls}
        trunks = [
            {"id": report.trunk_id, "state": report.state, "detail": report.detail[:_DETAIL_MAX]}
            for report in self.trunks()
        ]
        for ids, told in zip_longest(_shares(list(named), _CALLS_MAX), _shares(trunks, TRUNKS_MAX), fillvalue=()):
            answer = await self._service.post(
                "/engine/heartbeat",
                {"calls": ids, **self._about(), **({"trunks": told} if told else {})},
                timeout=min(self._timing.answer, self._timing.heartbeat),
            )
            listed = answer.get("lost")
            lost = {call_id for call_id in listed if isinstance(call_id, int)} if isinstance(listed, list) else set()
            for call_id in ids:
                if call_id not in lost:
                    named[call_id].lease.renew(sent_at)
            self._calls.lose(lost.intersection(ids), "the service gave it away, or its lease ran out")
            self._calls.dispatch(read_commands(answer))
            drain = answer.get("drain")
            if isinstance(drain, bool):
                self._on_drain(drain)
        self._answered_at = sent_at

    def _lose_expired(self) -> None:
        for call in self._calls:
            if call.lease.remaining <= 0:
                call.lose("its lease ran out while the service could not be reached")


def _shares(entries: Sequence[T], most: int) -> list[Sequence[T]]:
    """Split entries into as many as a heartbeat may have; one empty share if there are none."""
    return [entries[start : start + most] for start in range(0, max(1, len(entries)), most)]
