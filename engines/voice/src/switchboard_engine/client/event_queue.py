"""The numbered events of one call: which wait, which were sent, and which the service has. It does no I/O.

Invariants:

* An event gets its number when it is first sent, and keeps it: a request whose answer was lost may still arrive, and
  must then bring nothing that has another number by now.
* Events are acknowledged in order. What is acknowledged is kept for a while, since a service that was restored may ask
  for it again.
* A refused event leaves a marker of an unknown type under its number, which the service takes and ignores. Where it
  takes none, as once the call is over, the later events move up instead.
"""

import json
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from .events import LATE, Event, Metrics, Partial, Quality, iso
from .service import encode

BATCH_EVENTS_MAX = 100
"""Most events of one request."""
BATCH_BYTES_MAX = (1 << 20) - 4096
"""Most bytes of the events of one request: the body may have 1 MiB, the rest is for what stands around them."""
QUEUE_EVENTS_MAX = 2_000
"""Most events that wait for the service."""
QUEUE_BYTES_MAX = 4 << 20
"""Most bytes of events that wait for the service."""
HISTORY_BYTES_MAX = 2 << 20
"""Bytes of acknowledged events that are kept in case the service asks for them again."""

_SKIPPED = "skipped"
"""Type of the marker: the service knows none of that name."""
_EXPENDABLE = frozenset({Partial.type, Metrics.type, Quality.type})
_SEQ_BYTES = 20


class DisagreementError(Exception):
    """The service expects an event that was never sent, or that is not kept any more."""


@dataclass(slots=True)
class QueuedEvent:
    """An event as JSON without its number; `order` counts the reports of the call."""

    order: int
    type: str
    json: bytes
    seq: int = 0

    def numbered(self) -> bytes:
        """Return the JSON with its number."""
        return b'{"seq":%d,%b' % (self.seq, self.json[1:])


class EventQueue:
    """The events of a call from their report until the service has them."""

    def __init__(self, next_seq: int = 1) -> None:
        self._waiting: deque[QueuedEvent] = deque()
        self._sent: deque[QueuedEvent] = deque()
        self._taken: deque[QueuedEvent] = deque()
        self._taken_bytes = 0
        self._pending_bytes = 0
        self._next_seq = next_seq
        self._acknowledged = next_seq - 1
        self._order = 0
        self._batch_max = BATCH_EVENTS_MAX
        self._suspects_end = 0
        self.delivered = 0
        """Events that the service has; those that it asks for again do not count."""

    def __len__(self) -> int:
        """Events that the service does not have."""
        return len(self._sent) + len(self._waiting)

    @property
    def order(self) -> int:
        """Count of the last report."""
        return self._order

    @property
    def is_full(self) -> bool:
        """Whether a report has to wait."""
        return len(self) >= QUEUE_EVENTS_MAX or self._pending_bytes >= QUEUE_BYTES_MAX

    def holds(self, order: int, after: int = 0) -> bool:
        """Whether a report up to this count, with a number beyond `after` or none yet, is not at the service."""
        pending = (queued.order for queued in (*self._sent, *self._waiting) if not 0 < queued.seq <= after)
        return next(pending, order + 1) <= order

    def put(self, event: Event) -> None:
        """Append an event; `ValueError` if it is no JSON, or too large for a request.

        A partial takes the place of an earlier one that still waits.
        """
        members = event.members()
        members.setdefault("at", iso(datetime.now(UTC)))
        encoded = encode(members)
        if len(encoded) + _SEQ_BYTES > BATCH_BYTES_MAX:
            message = f"An event {event.type} of {len(encoded)} bytes is too large to be reported."
            raise ValueError(message)
        if isinstance(event, Partial):
            self._forget(queued for queued in self._waiting if queued.type == Partial.type)
        self._order += 1
        self._waiting.append(QueuedEvent(self._order, event.type, encoded))
        self._pending_bytes += len(encoded)

    def make_room(self) -> int:
        """Drop events that wait and that nobody will miss; return how many."""
        return self._forget(queued for queued in self._waiting if queued.type in _EXPENDABLE)

    def batch(self, after: int = 0) -> list[QueuedEvent]:
        """Return the next events to send, in order, numbered beyond `after`; those that waited get their numbers."""
        found: list[QueuedEvent] = []
        size = 0
        for queued in self._sent:
            if queued.seq > after:
                size += len(queued.json) + _SEQ_BYTES
                if len(found) == self._batch_max or size > BATCH_BYTES_MAX:
                    return found
                found.append(queued)
        while self._waiting and len(found) < self._batch_max:
            size += len(self._waiting[0].json) + _SEQ_BYTES
            if size > BATCH_BYTES_MAX:
                break
            queued = self._waiting.popleft()
            queued.seq = self._next_seq
            self._next_seq += 1
            self._sent.append(queued)
            found.append(queued)
        return found

    def rest(self, bytes_max: int) -> list[QueuedEvent] | None:
        """Return all that the service does not have, if it fits into one request beside `bytes_max` other bytes."""
        if len(self) > self._batch_max or self._pending_bytes + len(self) * _SEQ_BYTES > BATCH_BYTES_MAX - bytes_max:
            return None
        return self.batch()

    def acknowledge(self, seq: int) -> None:
        """The service has every event up to this number."""
        while self._sent and self._sent[0].seq <= seq:
            queued = self._sent.popleft()
            self._pending_bytes -= len(queued.json)
            self._acknowledged = queued.seq
            self.delivered += 1
            self._taken.append(queued)
            self._taken_bytes += len(queued.json)
        if self._acknowledged >= self._suspects_end:
            self._batch_max = BATCH_EVENTS_MAX
        while self._taken_bytes > HISTORY_BYTES_MAX:
            self._taken_bytes -= len(self._taken.popleft().json)

    def conflict(self, batch: list[QueuedEvent], next_seq: int) -> QueuedEvent | None:
        """The service took nothing of a batch and expects `next_seq`.

        Returns the event that it refuses, once that is found. Raises `DisagreementError`.
        """
        if next_seq == batch[0].seq:
            return self.refuse(batch)
        if next_seq > self._acknowledged + 1:
            if next_seq > self._next_seq:
                message = f"The service expects event {next_seq}, the next one is {self._next_seq}."
                raise DisagreementError(message)
            # An answer was lost, and the service has these.
            self.acknowledge(next_seq - 1)
        elif next_seq <= self._acknowledged:
            self._resend(next_seq)
        return None

    def refuse(self, batch: list[QueuedEvent]) -> QueuedEvent | None:
        """The service refuses something in a batch that begins with what it expects.

        It does not say what: halves are sent until one event is left, which is returned.
        """
        if batch[0].seq <= self._acknowledged:
            return None
        if len(batch) > 1:
            self._batch_max = len(batch) // 2
            self._suspects_end = max(self._suspects_end, batch[-1].seq)
            return None
        self._batch_max, self._suspects_end = BATCH_EVENTS_MAX, 0
        return batch[0]

    def mark_dropped(self, refused: QueuedEvent) -> None:
        """Leave a marker under the number of a refused event."""
        marker = {"type": _SKIPPED, "event": refused.type, "at": json.loads(refused.json)["at"]}
        self._pending_bytes -= len(refused.json)
        refused.type, refused.json = _SKIPPED, encode(marker)
        self._pending_bytes += len(refused.json)

    def close_up(self) -> int:
        """Drop what the service does not take once the call is over, and let the rest move up; return how many."""
        pending = [*self._sent, *self._waiting]
        kept = [queued for queued in pending if queued.type in LATE]
        self._requeue(kept)
        return len(pending) - len(kept)

    def drop(self, refused: QueuedEvent) -> None:
        """Drop one event of a call that is over, and let the rest move up."""
        self._requeue([queued for queued in (*self._sent, *self._waiting) if queued is not refused])

    @staticmethod
    def is_marker(queued: QueuedEvent) -> bool:
        """Whether an event is the marker of a refused one."""
        return queued.type == _SKIPPED

    def clear(self) -> None:
        """Drop everything: the call is lost."""
        self._requeue([])
        self._taken.clear()
        self._taken_bytes = 0

    def _requeue(self, pending: list[QueuedEvent]) -> None:
        self._waiting = deque(pending)
        self._sent.clear()
        self._next_seq = self._acknowledged + 1
        for queued in pending:
            queued.seq = 0
        self._pending_bytes = sum(len(queued.json) for queued in pending)

    def _resend(self, next_seq: int) -> None:
        """Make acknowledged events pending again.

        A service that takes nothing cannot ask for ever: each time it asks for an earlier one.
        """
        if not self._taken or next_seq < self._taken[0].seq:
            message = f"The service asks for event {next_seq} again, which is not kept."
            raise DisagreementError(message)
        while self._taken and self._taken[-1].seq >= next_seq:
            queued = self._taken.pop()
            self.delivered -= 1
            self._taken_bytes -= len(queued.json)
            self._pending_bytes += len(queued.json)
            self._sent.appendleft(queued)
        self._acknowledged = next_seq - 1

    def _forget(self, unwanted: Iterable[QueuedEvent]) -> int:
        orders = {queued.order for queued in unwanted}
        if orders:
            self._pending_bytes -= sum(len(queued.json) for queued in self._waiting if queued.order in orders)
            self._waiting = deque(queued for queued in self._waiting if queued.order not in orders)
        return len(orders)


def report_body(batch: list[QueuedEvent]) -> bytes:
    """Return the body that reports a batch."""
    return b'{"events":[%b]}' % b",".join(queued.numbered() for queued in batch)
