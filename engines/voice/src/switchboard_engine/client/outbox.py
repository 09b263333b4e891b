"""Delivers the events of one call: in order, each exactly once, whatever happens to requests and answers.

One request is under way at a time, besides events that travel within a tool's request. What is reported meanwhile goes
into the next one, so a slow service gets larger batches, not more requests.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from .backoff import Backoff
from .errors import ConflictError, InvalidError, RefusedError, ServiceError, TemporaryError, TooLargeError
from .event_queue import BATCH_BYTES_MAX, DisagreementError, EventQueue, QueuedEvent, report_body
from .events import LATE, Event, Metrics, Partial, Quality
from .lease import Lease
from .timing import Timing
from .wire import EventsAnswer

_log = logging.getLogger(__name__)

_MISSABLE = (Partial, Metrics, Quality)


class Outbox:
    """The events of one call on their way to the service."""

    def __init__(
        self,
        call_id: int,
        post: Callable[[bytes], Awaitable[EventsAnswer]],
        *,
        lease: Lease,
        timing: Timing,
        patience: float,
        on_answer: Callable[[EventsAnswer], None],
        on_delivered: Callable[[int], None],
        on_lost: Callable[[str], None],
        next_seq: int = 1,
    ) -> None:
        """Send with `post`; `patience` is how long, in seconds, events wait for a service that does not answer.

        `on_answer` gets each answer, `on_delivered` the number of events that the service took, and `on_lost` the
        reason why the call is not this engine's any more.
        """
        self._call_id = call_id
        self._post = post
        self._lease = lease
        self._timing = timing
        self._patience = patience
        self._on_answer = on_answer
        self._on_delivered = on_delivered
        self._on_lost = on_lost
        self._queue = EventQueue(next_seq)
        self._sender: asyncio.Task[None] | None = None
        self._progress = asyncio.Event()
        self._riding = 0
        self._riders = 0
        self._partial_at = float("-inf")
        self._is_over = False
        self._is_closed = False

    def __len__(self) -> int:
        """Events that the service does not have."""
        return len(self._queue)

    @property
    def is_closed(self) -> bool:
        """Whether nothing is delivered any more."""
        return self._is_closed

    async def report(self, event: Event) -> None:
        """Queue an event; waits only while the queue is full. `ValueError` for one that cannot be sent at all.

        A partial that comes less than 200 ms after another is dropped, and so is what nobody misses when the queue is
        full.
        """
        if self._is_over and event.type not in LATE:
            _log.debug("call %d: %s came after its end", self._call_id, event.type)
            return
        if isinstance(event, Partial):
            now = time.monotonic()
            if now - self._partial_at < self._timing.partials_apart:
                return
            self._partial_at = now
        while self._queue.is_full and not self._is_closed:
            if self._queue.make_room():
                continue
            if isinstance(event, _MISSABLE):
                return
            await self._progress.wait()
        if self._is_closed:
            _log.debug("call %d: %s is not reported, the call is lost", self._call_id, event.type)
            return
        self._queue.put(event)
        self._send()

    async def flush(self) -> None:
        """Wait until what was reported so far is at the service, travels with a tool's request, or is given up."""
        order = self._queue.order
        while self._queue.holds(order, self._riding) and not self._is_closed:
            await self._progress.wait()

    async def board(self, bytes_beside: int) -> list[QueuedEvent]:
        """Return all pending events to travel in a request that has `bytes_beside` other bytes; then `alight`."""
        while (batch := self._queue.rest(min(bytes_beside, BATCH_BYTES_MAX))) is None and not self._is_closed:
            if not len(self._queue):
                return []
            await self._progress.wait()
        if batch:
            self._riders += 1
            self._riding = max(self._riding, batch[-1].seq)
        return batch or []

    def alight(self, batch: list[QueuedEvent], next_seq: int | None) -> None:
        """The request of a boarded batch is over; the service expects `next_seq` if it said so."""
        if not batch:
            return
        self._riders -= 1
        if self._riders == 0:
            self._riding = 0
        if next_seq is not None:
            self._acknowledge(min(next_seq - 1, batch[-1].seq))
        self._send()

    def call_is_over(self) -> None:
        """The service has ended the call: it takes only what belongs to a call that is over."""
        self._is_over = True
        # Numbers may move up only while no request with them is under way.
        if self._riders == 0 and self._sender is None:
            self._close_up()

    def close(self, reason: str) -> None:
        """Give up what is pending, and say so."""
        if self._is_closed:
            return
        self._is_closed = True
        if len(self._queue):
            _log.warning("call %d: %d events are lost: %s", self._call_id, len(self._queue), reason)
        self._queue.clear()
        if self._sender is not None and self._sender is not asyncio.current_task():
            self._sender.cancel()
        self._moved()
        self._on_lost(reason)

    def _send(self) -> None:
        if self._sender is None and not self._is_closed and len(self._queue):
            self._sender = asyncio.create_task(self._deliver(), name=f"events of call {self._call_id}")

    async def _deliver(self) -> None:
        try:
            await self._deliver_all()
        except DisagreementError as error:
            self.close(str(error))
        except Exception:
            _log.exception("call %d: the delivery of its events broke", self._call_id)
            self.close("the delivery of its events broke")
        finally:
            self._sender = None
            self._moved()

    async def _deliver_all(self) -> None:
        backoff = Backoff(self._timing.backoff_first, self._timing.backoff_most)
        give_up_at: float | None = None
        while not self._is_closed and (batch := self._queue.batch(self._riding)):
            sent_at = time.monotonic()
            try:
                await self._try(batch, sent_at)
            except TemporaryError as error:
                give_up_at = give_up_at or sent_at + self._patience
                pause = backoff.pause(error)
                if time.monotonic() + pause > max(give_up_at, time.monotonic() + self._lease.remaining):
                    self.close(f"the service has not taken its events for {self._patience:.0f} s ({error.message})")
                    return
                await asyncio.sleep(pause)
                continue
            except RefusedError as error:
                self.close(f"the service does not take its events ({error})")
                return
            give_up_at = None
            backoff.reset()
            self._moved()

    async def _try(self, batch: list[QueuedEvent], sent_at: float) -> None:
        """Send a batch; what the service will never take is left out, other failures are raised."""
        try:
            answer = await self._post(report_body(batch))
        except (ConflictError, InvalidError, TooLargeError) as error:
            refused = self._refused_of(batch, error)
            if refused is not None:
                await self._leave_out(refused, error.message)
            return
        self._lease.renew(sent_at)
        self._acknowledge(batch[-1].seq)
        self._answered(answer)

    def _answered(self, answer: EventsAnswer) -> None:
        for kind in answer.ignored:
            _log.debug("call %d: the service ignores events of the type %s", self._call_id, kind)
        if answer.is_over:
            self._is_over = True
            if self._riders == 0:
                self._close_up()
        self._on_answer(answer)

    def _refused_of(self, batch: list[QueuedEvent], error: ServiceError) -> QueuedEvent | None:
        """Nothing of a batch was taken; return the event at fault, once it is found."""
        next_seq = error.next_seq if isinstance(error, ConflictError) else None
        return self._queue.refuse(batch) if next_seq is None else self._conflict(batch, next_seq)

    async def _leave_out(self, refused: QueuedEvent, message: str) -> None:
        """Go on without an event that the service will never take."""
        if not EventQueue.is_marker(refused):
            _log.warning("call %d: its event %s is dropped: %s", self._call_id, refused.type, message)
            if not self._is_over:
                self._queue.mark_dropped(refused)
                return
        elif not self._is_over:
            # A running call takes a marker, so it should be over; an empty report tells.
            self._answered(await self._post(report_body([])))
        self._queue.drop(refused)

    def _conflict(self, batch: list[QueuedEvent], next_seq: int) -> QueuedEvent | None:
        if next_seq < batch[0].seq:
            # The events of a tool's request did not arrive yet: they are sent here as well.
            self._riding = 0
        before = self._queue.delivered
        refused = self._queue.conflict(batch, next_seq)
        self._on_delivered(self._queue.delivered - before)
        return refused

    def _acknowledge(self, seq: int) -> None:
        before = self._queue.delivered
        self._queue.acknowledge(seq)
        self._on_delivered(self._queue.delivered - before)
        self._moved()

    def _close_up(self) -> None:
        dropped = self._queue.close_up()
        if dropped:
            _log.info("call %d: %d events came after its end", self._call_id, dropped)
        self._moved()

    def _moved(self) -> None:
        """Wake all that wait for progress."""
        self._progress.set()
        self._progress = asyncio.Event()
