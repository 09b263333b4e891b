"""A call as the service keeps it: its state, its events, and what of them it takes."""

import json
import time
from dataclasses import dataclass, field
from typing import Any

RUNNING = frozenset({"initiated", "ringing", "in-progress"})
AFTER_END = frozenset({"recording", "cost", "usage", "quality", "metrics"})
IN_TALK = frozenset({"detected", "transcript", "partial", "variables", "dtmf", "transfer", "hold", "resume", "metrics"})
WHILE_RUNNING = frozenset({"recording", "cost", "usage", "quality", "unsupported", "command"})
KNOWN = AFTER_END | IN_TALK | WHILE_RUNNING | {"dialing", "release", "ringing", "answered", "ended", "failed"}
LATE_SECONDS = 30.0
COMMAND_SECONDS = 60.0

Answer = tuple[int, dict[str, Any]]


@dataclass
class FakeCommand:
    """A command that the service repeats until its end is reported."""

    members: dict[str, Any]
    sent_at: float = field(default_factory=time.monotonic)
    result: dict[str, Any] | None = None


@dataclass
class FakeCall:
    """A call of the service, strict about numbers and states; `wrongs` collects what an engine must not do."""

    id: int
    entry: dict[str, Any]
    wrongs: list[str]
    status: str = "initiated"
    is_dialed: bool = False
    lease_until: float = 0.0
    ended_at: float = 0.0
    events: list[dict[str, Any]] = field(default_factory=list)
    held: int = 0
    seen: dict[int, dict[str, Any]] = field(default_factory=dict)
    commands: list[FakeCommand] = field(default_factory=list)
    tools: list[tuple[str, Any]] = field(default_factory=list)
    recording: bytes | None = None
    releases: int = 0
    refused_types: frozenset[str] = frozenset()

    @property
    def is_running(self) -> bool:
        return self.status in RUNNING

    @property
    def types(self) -> list[str]:
        """Types of the events that were taken."""
        return [event["type"] for event in self.events]

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the events of a type."""
        return [event for event in self.events if event["type"] == kind]

    def command(self, kind: str, **members: Any) -> FakeCommand:
        """Send a command."""
        command = FakeCommand({"call_id": self.id, "id": len(self.commands) + 1, "type": kind, **members})
        self.commands.append(command)
        return command

    def open_commands(self) -> list[dict[str, Any]]:
        """Return the commands that go with every answer."""
        now = time.monotonic()
        return [
            command.members
            for command in self.commands
            if command.result is None and now - command.sent_at < COMMAND_SECONDS
        ]

    def forget(self, count: int) -> None:
        """Lose the last events, as a service that was restored does."""
        self.held = max(0, self.held - count)
        del self.events[self.held :]
        self._replay()

    def end(self, status: str) -> None:
        """End the call without the engine."""
        self.status, self.ended_at = status, time.monotonic()

    def report(self, body: dict[str, Any], lease: float) -> Answer:
        """Take a list of events, or none of it."""
        reported = body.get("events")
        if not isinstance(reported, list) or len(reported) > 100:
            self.wrongs.append(f"a report of {str(body)[:200]}")
            return 422, {"message": "The events are wrong."}
        before = (self.status, self.is_dialed, self.ended_at, self.held, len(self.events))
        ignored = []
        for event in reported:
            seq = event["seq"]
            self._check_same(event)
            if seq <= self.held:
                continue
            if seq == self.held + 1 and isinstance(event.get("text"), str) and not event["text"]:
                self._undo(before)
                return 422, {"message": "The text field is required."}
            if seq != self.held + 1 or not self._take(event):
                self._undo(before)
                return self._out_of_order("The call's state does not allow this event.")
            if event["type"] not in KNOWN:
                ignored.append({"seq": seq, "type": event["type"]})
        for event in self.events[before[4] :]:
            self._note(event)
        if self.is_running:
            self.lease_until = max(self.lease_until, time.monotonic() + lease)
        commands = self.open_commands()
        return 200, {"call_status": self.status, "lease": None, "commands": commands, "ignored": ignored, "new": 1}

    def _undo(self, before: tuple[str, bool, float, int, int]) -> None:
        self.status, self.is_dialed, self.ended_at, self.held, count = before
        del self.events[count:]

    def _out_of_order(self, message: str) -> Answer:
        return 409, {"message": message, "next_seq": self.held + 1}

    def _check_same(self, event: dict[str, Any]) -> None:
        """A number that was taken must never bring another event, but a late one that was refused and then marked."""
        known = self.seen.get(event["seq"])
        if known is not None and known != event and known["type"] != "skipped":
            self.wrongs.append(f"call {self.id}: {json.dumps(event)} was {json.dumps(known)}")

    def _take(self, event: dict[str, Any]) -> bool:
        status = self._next(event)
        if status is None or event["type"] in self.refused_types:
            return False
        if self.is_running and status not in RUNNING:
            self.ended_at = time.monotonic()
        self.status = status
        self.is_dialed = self.is_dialed or event["type"] == "dialing"
        self.held += 1
        self.events.append(event)
        return True

    def _note(self, event: dict[str, Any]) -> None:
        self.seen[event["seq"]] = event
        if event["type"] == "command":
            for command in self.commands:
                if command.members["id"] == event["id"]:
                    command.result = event

    def _replay(self) -> None:
        events, self.events, self.held = self.events, [], 0
        self.status, self.is_dialed = "initiated", False
        self.seen.clear()
        for event in events:
            self._take(event)
            self._note(event)

    def _next(self, event: dict[str, Any]) -> str | None:
        """Return the state after an event, None where the table of states has none."""
        kind, status = event["type"], self.status
        if not self.is_running:
            late = kind == "transcript" and time.monotonic() - self.ended_at < LATE_SECONDS
            return status if kind in AFTER_END or late else None
        if kind == "failed":
            reason = event["reason"]
            return reason if reason in ("busy", "no-answer") and status != "in-progress" else "failed"
        if kind in WHILE_RUNNING or kind not in KNOWN:
            return status
        if status == "in-progress":
            if kind == "ended":
                by = event["by"]
                return f"ended_by_{by}" if by in ("customer", "assistant") else "ended"
            return status if kind in IN_TALK else None
        before_answer = {
            "dialing": "initiated" if status == "initiated" else None,
            "release": "initiated" if status == "initiated" and not self.is_dialed else None,
            "ringing": "ringing" if status == "initiated" else None,
            "answered": "in-progress",
        }
        return before_answer.get(kind)
