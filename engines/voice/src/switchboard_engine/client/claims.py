"""The parked claim: one long poll that brings calls while there is room, and commands and checks of trunks always.

An engine that is full or drained parks a claim of capacity 0, which commands wake. A claim that offers room is never
cut short for a smaller one: a call that was handed out to a connection that closed would wait for its lease to run
out. So calls that arrive while it is parked may take the engine over its capacity by as many.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .backoff import Backoff
from .calls import RunningCalls
from .checks import Checks
from .errors import ForbiddenError, InvalidError, ServiceError, TemporaryError, UnauthenticatedError
from .service import Service
from .timing import Timing
from .wire import PROTOCOL, Claimed, Json, entries, read_commands

_log = logging.getLogger(__name__)

_CAPACITY_MAX = 1_000
"""Most calls that one claim may ask for."""
_AT_ONCE = 0.1
"""Least time between two claims that bring nothing, seconds: a service that does not park is not polled in a loop."""


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """Which calls to claim, within what the token may; empty: all."""

    account_ids: Sequence[int] = ()
    trunk_ids: Sequence[int] = ()
    types: Sequence[str] = ()

    def members(self) -> dict[str, list[Any]]:
        """Return the member `filter` of a claim."""
        named = {"account_ids": self.account_ids, "trunk_ids": self.trunk_ids, "types": self.types}
        return {name: list(values) for name, values in named.items() if values}


class Claims:
    """Claims calls for an engine of this name until it is cancelled."""

    def __init__(
        self,
        service: Service,
        calls: RunningCalls,
        checks: Checks,
        timing: Timing,
        *,
        name: str,
        modes: Sequence[str],
        only: ClaimFilter,
        take: Callable[[Claimed], Awaitable[None]],
    ) -> None:
        self._service = service
        self._calls = calls
        self._checks = checks
        self._timing = timing
        self._name = name
        self._modes = modes
        self._only = only
        self._take = take
        self._parks_without_room = True
        self.claimed = 0
        """Calls claimed so far."""
        self.is_draining = False

    def drain(self, *, on: bool) -> None:
        """Claim no more calls, or go on claiming."""
        self.is_draining = on
        self._calls.changed.set()

    async def run(self) -> None:
        """Claim for ever; raises `UnauthenticatedError` or `ForbiddenError` when the token is none for this."""
        backoff = Backoff(self._timing.backoff_first, self._timing.backoff_most)
        failures = 0
        while True:
            room = self._room
            try:
                answer = await self._park(room)
            except (UnauthenticatedError, ForbiddenError):
                raise
            except ServiceError as error:
                if room == 0 and isinstance(error, InvalidError):
                    _log.info("the service parks no claim without room: commands come with heartbeats and events")
                    self._parks_without_room = False
                    continue
                level = logging.WARNING if failures == 0 or not isinstance(error, TemporaryError) else logging.DEBUG
                _log.log(level, "no calls can be claimed, it is tried again: %s", error)
                failures += 1
                await asyncio.sleep(backoff.pause(error))
                continue
            if failures:
                _log.info("the service is back")
                failures = 0
            backoff.reset()
            if answer is not None:
                await self._receive(answer)

    @property
    def _room(self) -> int:
        return 0 if self.is_draining else self._calls.room

    async def _park(self, room: int) -> Json | None:
        """Claim, and return the answer; None if the claim was given up for another one."""
        self._calls.changed.clear()
        if room == 0 and not self._parks_without_room:
            await self._calls.changed.wait()
            return None
        started = time.monotonic()
        claim = asyncio.create_task(self._claim(room))
        try:
            while not claim.done() and not self._is_outdated(room):
                changed = asyncio.create_task(self._calls.changed.wait())
                try:
                    await asyncio.wait({claim, changed}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
                self._calls.changed.clear()
            if not claim.done():
                return None
            answer = claim.result()
        finally:
            claim.cancel()
        if not any(entries(answer, name) for name in ("calls", "commands", "checks")):
            await asyncio.sleep(_AT_ONCE - (time.monotonic() - started))
        return answer

    def _is_outdated(self, room: int) -> bool:
        """Whether a claim parked with this room should be another: there is room again, or none may be taken."""
        return self._room > 0 if room == 0 else self.is_draining

    async def _claim(self, room: int) -> Json:
        body: dict[str, Any] = {
            "engine": self._name,
            "modes": list(self._modes),
            "capacity": min(room, _CAPACITY_MAX),
            "wait": self._timing.claim_wait,
            "protocol": PROTOCOL,
            "filter": self._only.members(),
        }
        if self._checks.check is not None:
            body["checks"] = True
        return await self._service.post("/engine/claim", body, timeout=self._timing.claim_wait + self._timing.answer)

    async def _receive(self, answer: Json) -> None:
        for entry in entries(answer, "calls"):
            claimed = Claimed.read(entry)
            if claimed is None:
                _log.error("a claimed call has no id, and is left to its lease")
                continue
            self.claimed += 1
            await self._take(claimed)
        # After the calls: a command may be for one of them.
        self._calls.dispatch(read_commands(answer))
        self._checks.receive(answer)
