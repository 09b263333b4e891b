"""Calls that come to the engine rather than from the service, and the trunks that they come in on."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any
from uuid import uuid4

from .backoff import Backoff, persist
from .errors import ForbiddenError, NotFoundError, ServiceError, UnauthenticatedError, UnreachableError
from .service import Service
from .timing import Timing
from .wire import Claimed, Json, Telephony, Trunks, entries, integer, text

_log = logging.getLogger(__name__)

_CALLER_WAITS = 10.0
"""How long bringing a call is tried again, seconds: somebody hears it ring meanwhile."""


class Arrivals:
    """Brings inbound and web calls to the service."""

    def __init__(self, service: Service, timing: Timing) -> None:
        self._service = service
        self._timing = timing

    async def inbound(
        self, caller: str | None, to: str, *, external_id: str | None = None, trunk_id: int | None = None
    ) -> Claimed:
        """Bring a call from a telephone to a number; `caller` is None if withheld.

        `external_id` is the SIP Call-ID or the provider's id of the call, at most 128 printable characters: the same
        one brings the same call, so give it wherever there is one. Raises `NotFoundError` when no active assistant
        holds the number, `ForbiddenError` when it is not on that trunk, `ConflictError` when the call of this id is
        over, `TemporaryError` when the service cannot answer within 10 s.
        """
        members = {"type": "inbound", "from": caller, "to": to, "external_id": external_id, "trunk_id": trunk_id}
        return await self._bring(members, is_named=external_id is not None)

    async def web(
        self,
        *,
        token: str | None = None,
        assistant_id: int | None = None,
        external_id: str | None = None,
        variables: Mapping[str, Any] | None = None,
    ) -> Claimed:
        """Bring a call from a browser, by the token that it showed, or for an assistant.

        Raises `ConflictError` when the token was used before, and otherwise as `inbound`.
        """
        members = {
            "type": "web",
            "token": token,
            "assistant_id": assistant_id,
            "external_id": external_id,
            "variables": variables,
        }
        return await self._bring(members, is_named=external_id is not None)

    async def trunks(self) -> AsyncIterator[Trunks]:
        """Return all trunks of the token's accounts, and again whenever they change; for ever.

        Raises `UnauthenticatedError` and `ForbiddenError`; other failures are tried again.
        """
        backoff = Backoff(self._timing.backoff_first, self._timing.backoff_most)
        version: int | str | None = None
        while True:
            query = {"wait": str(self._timing.claim_wait)}
            if version is not None:
                query["after"] = str(version)
            try:
                answer = await self._service.get(
                    "/engine/trunks", query, timeout=self._timing.claim_wait + self._timing.answer
                )
            except (UnauthenticatedError, ForbiddenError, NotFoundError):
                raise
            except ServiceError as error:
                _log.warning("the trunks cannot be read: %s", error)
                await asyncio.sleep(backoff.pause(error))
                continue
            backoff.reset()
            latest = integer(answer, "version") or text(answer, "version") or 0
            if latest == version:
                # The wait was over; a service that does not park is not polled in a loop.
                await asyncio.sleep(self._timing.backoff_first)
                continue
            version = latest
            yield Trunks(latest, tuple(Telephony.read(entry) for entry in entries(answer, "trunks")))

    async def _bring(self, members: Mapping[str, Any], *, is_named: bool) -> Claimed:
        body = {name: value for name, value in members.items() if value is not None}
        # An external id makes a repetition harmless; without one the key does.
        key = None if is_named else uuid4().hex

        async def attempt() -> Json:
            return await self._service.post("/engine/calls", body, timeout=self._timing.answer, key=key)

        answer = await persist(attempt, Backoff(self._timing.backoff_first, 1.0), _CALLER_WAITS)
        claimed = Claimed.read(answer)
        if claimed is None:
            message = "The service's answer to a call has no call in it."
            raise UnreachableError(message)
        return claimed
