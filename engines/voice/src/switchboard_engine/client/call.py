"""A call that this engine carries: what the conversation reports, asks and is told.

What is reported is delivered in the background, in order and exactly once. A call that is lost is not this engine's any
more: its far end must be hung up, and what is reported of it goes nowhere.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from .backoff import Backoff, persist
from .errors import CallLostError
from .events import ENDS, LATE, Answered, CommandResult, Dialing, Ended, Event, Failed, Release, Ringing, clipped
from .lease import Lease
from .outbox import Outbox
from .recording import upload
from .service import Service
from .timing import Timing
from .tools import TIMEOUT_MAX, ToolCaller
from .wire import (
    Assistant,
    CallInfo,
    Claimed,
    Command,
    EventsAnswer,
    Json,
    Passage,
    Telephony,
    ToolAnswer,
    entries,
    integer,
    number,
    text,
)

_log = logging.getLogger(__name__)


class Call:
    """A call of this engine.

    `on_over` is called once, when it is over or lost; `on_delivered` with the number of events that the service took.
    """

    def __init__(
        self,
        service: Service,
        claimed: Claimed,
        *,
        lease: Lease,
        timing: Timing,
        on_over: Callable[["Call"], None],
        on_delivered: Callable[[int], None],
    ) -> None:
        self.id: int = claimed.call.id
        self.info: CallInfo = claimed.call
        self.assistant: Assistant = claimed.assistant
        self.telephony: Telephony | None = claimed.telephony
        self.lost = asyncio.Event()
        """Set when the call is not this engine's any more: hang up."""
        self.outcome: str | None = None
        """How it came out, None until then: customer, assistant, ended, busy, no-answer, failed, released, lost."""
        self.lease = lease
        self._service = service
        self._timing = timing
        self._on_over = on_over
        self._is_dialed = claimed.call.status != "initiated"
        self._is_answered = claimed.call.status == "in-progress"
        self._is_over = False
        self._commands: asyncio.Queue[Command | None] = asyncio.Queue()
        self._known_commands: set[int | str] = set()
        self._outbox = Outbox(
            self.id,
            self._post_events,
            lease=lease,
            timing=timing,
            patience=lease.seconds if timing.patience is None else timing.patience,
            on_answer=self._on_answer,
            on_delivered=on_delivered,
            on_lost=self.lose,
            next_seq=claimed.next_seq,
        )
        self._tools = ToolCaller(service, self._outbox, lease, timing, self.id)

    def __repr__(self) -> str:
        return f"Call({self.id})"

    @property
    def is_over(self) -> bool:
        """Whether it has ended, was given back, or is lost."""
        return self._is_over

    @property
    def pending_events(self) -> int:
        """Events that the service does not have."""
        return len(self._outbox)

    @property
    async def commands(self) -> AsyncIterator[Command]:
        """Commands in the order in which they came, each once; ends with the call. For one reader.

        Answer each with `done` or `refused`: until then the service repeats it, and its sender waits.
        """
        while (command := await self._commands.get()) is not None:
            yield command
        # Another iteration must end as well.
        self._commands.put_nowait(None)

    async def report(self, event: Event) -> None:
        """Report an event; returns once it is queued, which takes time only while the queue is full.

        After the end only what the service still takes is sent: recording, cost, usage, quality, metrics, and lines
        that were said before. Raises `ValueError` for an event that is no JSON or over 1 MiB.
        """
        if self._is_over and event.type not in LATE:
            _log.debug("call %d: %s came after its end", self.id, event.type)
            return
        self._is_dialed = self._is_dialed or isinstance(event, Dialing | Ringing | Answered)
        self._is_answered = self._is_answered or isinstance(event, Answered)
        ends = event.type in ENDS
        # Set before waiting: nothing may be reported behind the end meanwhile.
        self._is_over = self._is_over or ends
        await self._outbox.report(event)
        if ends:
            self._finish(_outcome(event))

    async def flush(self) -> None:
        """Wait until the service has what was reported so far, or it is given up."""
        await self._outbox.flush()

    async def done(self, command: Command) -> None:
        """Report that a command was carried out."""
        await self.report(CommandResult(command.id, "done"))

    async def refused(self, command: Command, reason: str) -> None:
        """Report that a command was not carried out, and why."""
        await self.report(CommandResult(command.id, "refused", clipped(reason)))

    async def ended(self, by: str, reason: str | None = None) -> None:
        """Report the end, by `customer`, `assistant` or another word; waits until the service has it.

        A call that was never answered cannot have ended: it has failed, for this reason.
        """
        if self._is_answered:
            await self.report(Ended(by, clipped(reason)))
        else:
            await self.report(Failed(clipped(reason) or f"ended by {by}"))
        await self.flush()

    async def failed(self, reason: str) -> None:
        """Report that the call came to nothing; waits until the service has it.

        `busy` and `no-answer` are reasons of their own.
        """
        await self.report(Failed(clipped(reason) or "unknown"))
        await self.flush()

    async def release(self, reason: str) -> None:
        """Give the call back to the queue; only before `dialing`, later it has failed."""
        if self._is_dialed:
            await self.failed(reason)
        else:
            await self.report(Release(clipped(reason) or "unknown"))
            await self.flush()

    async def tool(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Have the service ask a tool, after the events that led to it, and return what its endpoint answered.

        Raises `ToolError` with a sentence that a model can act on, `CallLostError`, and `ValueError` for arguments that
        are no JSON.
        """
        if self._is_over:
            raise CallLostError
        function = self.assistant.function(name)
        timeout = function.timeout if function is not None and function.timeout is not None else TIMEOUT_MAX
        return await self._tools.ask(name, arguments, timeout)

    async def knowledge(self, query: str, limit: int = 5) -> list[Passage]:
        """Search the knowledgebase of the assistant for at most `limit` passages, 1 to 20, the best first.

        Raises a `ServiceError` when the service cannot, and `CallLostError`.
        """
        await self.flush()
        if self._is_over:
            raise CallLostError
        body, key = {"query": query, "limit": limit}, uuid4().hex
        timeout = self._timing.answer

        async def attempt() -> Json:
            return await self._service.post(f"/engine/calls/{self.id}/knowledge", body, timeout=timeout, key=key)

        with self.lease.held():
            backoff = Backoff(self._timing.backoff_first, self._timing.backoff_most)
            answer = await persist(attempt, backoff, timeout)
        return [
            Passage(
                document_id=integer(entry, "document_id"),
                document_name=text(entry, "document_name"),
                score=number(entry, "score") or 0.0,
                text=text(entry, "text") or "",
            )
            for entry in entries(answer, "data")
        ]

    async def upload(self, file: Path, content_type: str) -> str:
        """Upload the recording, `audio/wav`, `audio/ogg` or `audio/mpeg` of at most 256 MB, and return its URL.

        Also after the end, for 24 h. Raises `ForbiddenError` where the assistant does not record, `ValueError` for
        another type or size, or another `ServiceError`.
        """
        return await upload(self._service, self._timing, self.id, file, content_type)

    def deliver(self, commands: Iterable[Command]) -> None:
        """Queue the commands that are not known yet."""
        for command in commands:
            if command.id not in self._known_commands and not self._is_over:
                self._known_commands.add(command.id)
                self._commands.put_nowait(command)

    def lose(self, reason: str) -> None:
        """The call is not this engine's any more."""
        if self._is_over:
            return
        _log.warning("call %d is lost: %s", self.id, reason)
        self._is_over = True
        self.lost.set()
        self._outbox.call_is_over()
        self._finish("lost")

    def abandon(self, reason: str) -> None:
        """Give up what was not delivered: the engine stops."""
        self._outbox.close(reason)
        self.lose(reason)

    def _finish(self, outcome: str) -> None:
        self.outcome = outcome
        self._commands.put_nowait(None)
        self._on_over(self)

    async def _post_events(self, body: bytes) -> EventsAnswer:
        path = f"/engine/calls/{self.id}/events"
        return EventsAnswer.read(await self._service.post(path, body, timeout=self._timing.answer), self.id)

    def _on_answer(self, answer: EventsAnswer) -> None:
        self.deliver(answer.commands)
        if answer.is_over:
            self.lose(f"the service has ended it ({answer.call_status})")


def _outcome(end: Event) -> str:
    """Return what an event made of a call, in one of few words."""
    if isinstance(end, Failed):
        return end.reason if end.reason in ("busy", "no-answer") else "failed"
    if isinstance(end, Ended):
        return end.by if end.by in ("customer", "assistant") else "ended"
    return "released"
