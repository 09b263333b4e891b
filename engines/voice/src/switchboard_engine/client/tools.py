"""A tool's request in a call: the service makes it, and takes the call's pending events along first.

A request whose answer was lost is repeated under its `Idempotency-Key`, so that the tool's endpoint is not asked twice.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from .backoff import Backoff
from .errors import (
    BusyError,
    CallLostError,
    ConflictError,
    FailingError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ServiceError,
    TemporaryError,
    ToolError,
    UnreachableError,
)
from .event_queue import QueuedEvent
from .lease import Lease
from .outbox import Outbox
from .service import Service, encode
from .timing import Timing
from .wire import Json, ToolAnswer, integer, text

TIMEOUT_MAX = 30.0
"""Longest timeout that a tool has, seconds; that of a function whose timeout is not known."""

_TRIES_MAX = 3
"""How often the events in front of a tool may be out of order before the tool is given up."""


class ToolCaller:
    """Asks the tools of one call."""

    def __init__(self, service: Service, outbox: Outbox, lease: Lease, timing: Timing, call_id: int) -> None:
        self._service = service
        self._outbox = outbox
        self._lease = lease
        self._timing = timing
        self._call_id = call_id

    async def ask(self, name: str, arguments: Mapping[str, Any], timeout: float) -> ToolAnswer:
        """Have the service ask a tool, which has `timeout` seconds.

        Raises `ToolError` for what the model can be told, and `CallLostError` when the call is not this engine's.
        """
        encoded = encode(arguments)
        for _ in range(_TRIES_MAX):
            batch = await self._outbox.board(len(encoded) + 64)
            if self._outbox.is_closed:
                raise CallLostError
            next_seq: int | None = None
            try:
                with self._lease.held():
                    answer = await self._request(name, _body(encoded, batch), timeout)
                next_seq = batch[-1].seq + 1 if batch else None
                return ToolAnswer(
                    status=integer(answer, "status") or 0,
                    body=text(answer, "body") or "",
                    duration_ms=integer(answer, "duration_ms") or 0,
                )
            except ServiceError as error:
                next_seq = integer(error.body, "next_seq")
                if not _is_about_events(error, batch, next_seq):
                    raise _tool_error(error, name) from error
            finally:
                self._outbox.alight(batch, next_seq)
            # What is wrong with the events is found out without the tool.
            await self._outbox.flush()
        message = "The tool could not be asked."
        raise ToolError(message, 409)

    async def _request(self, name: str, body: bytes, timeout: float) -> Json:
        """Make the request, and repeat it while it is not known what became of it."""
        path, key = f"/engine/calls/{self._call_id}/tools/{quote(name, safe='')}", uuid4().hex
        backoff = Backoff(self._timing.backoff_first, self._timing.backoff_most)
        deadline = time.monotonic() + timeout + self._timing.answer
        is_unresolved = False
        while True:
            left = max(0.1, deadline - time.monotonic())
            try:
                return await self._service.post(path, body, timeout=left, key=key)
            except (BusyError, UnreachableError) as error:
                is_unresolved = is_unresolved or isinstance(error, UnreachableError)
                pause, failure = backoff.pause(error), error
            except ConflictError as error:
                # Under the same key: the first request still runs.
                if not is_unresolved or error.next_seq is not None:
                    raise
                pause, failure = backoff.pause(), UnreachableError(error.message)
            if time.monotonic() + pause >= deadline:
                raise failure
            await asyncio.sleep(pause)


def _body(arguments: bytes, batch: list[QueuedEvent]) -> bytes:
    if not batch:
        return b'{"arguments":%b}' % arguments
    return b'{"arguments":%b,"events":[%b]}' % (arguments, b",".join(queued.numbered() for queued in batch))


def _is_about_events(error: ServiceError, batch: list[QueuedEvent], next_seq: int | None) -> bool:
    """Whether the events were refused, not the tool: after events that it took, the service says `next_seq`."""
    if isinstance(error, ConflictError):
        return next_seq is not None
    return isinstance(error, InvalidError) and bool(batch) and next_seq is None


def _tool_error(error: ServiceError, name: str) -> Exception:
    """Return what the conversation is told."""
    if isinstance(error, InvalidError | FailingError | ForbiddenError):
        return ToolError(error.message, error.status or 502)
    if isinstance(error, NotFoundError):
        return ToolError(f"There is no tool {name}.", 404)
    if isinstance(error, ConflictError):
        return CallLostError(error.message)
    if isinstance(error, TemporaryError):
        return ToolError("The tool could not be reached in time.", error.status or 504)
    return ToolError("The tool could not be asked.", error.status or 500)
