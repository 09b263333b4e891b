"""Whatever happens to requests and answers, the service gets each event once, in order."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.fake_call import FakeCall
from support.fake_service import entry
from switchboard_engine.client import Timing
from switchboard_engine.client.errors import UnreachableError, from_answer
from switchboard_engine.client.event_queue import EventQueue, QueuedEvent, report_body
from switchboard_engine.client.events import (
    Answered,
    Cost,
    Dialing,
    Dtmf,
    Ended,
    Event,
    Failed,
    Hold,
    Metrics,
    Partial,
    Ringing,
    Transcript,
    Usage,
    Variables,
)
from switchboard_engine.client.lease import Lease
from switchboard_engine.client.outbox import Outbox
from switchboard_engine.client.wire import EventsAnswer

TIMING = Timing(backoff_first=0.001, backoff_most=0.002, partials_apart=0.0)


class Fault(Enum):
    """What happens to one request."""

    NONE = 0
    LOST = 1
    ANSWER_LOST = 2
    APPLIED_LATE = 3
    BUSY = 4
    BROKEN = 5
    FORGETS_ONE = 6
    FORGETS_ALL = 7
    SLOW = 8


@dataclass
class Line:
    """A line to a fake service on which requests meet their faults, one after the other, and then none."""

    faults: list[Fault] = field(default_factory=list)
    lease_seconds: float = 30.0
    patience: float = 30.0
    is_down: bool = False
    wrongs: list[str] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    late: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.call = FakeCall(1, entry(1), self.wrongs)
        self.lease = Lease(self.lease_seconds)
        self.delivered = 0
        self.outbox = Outbox(
            1,
            self.post,
            lease=self.lease,
            timing=TIMING,
            patience=self.patience,
            on_answer=lambda _answer: None,
            on_delivered=self.count,
            on_lost=self.losses.append,
        )

    def count(self, events: int) -> None:
        self.delivered += events

    async def post(self, body: bytes) -> EventsAnswer:
        self.bodies.append(body)
        assert len(body) <= 1 << 20
        await asyncio.sleep(0)
        fault = self.faults.pop(0) if self.faults else Fault.NONE
        if self.is_down or fault is Fault.LOST:
            raise UnreachableError("lost")
        if fault in (Fault.BUSY, Fault.BROKEN):
            raise from_answer(503 if fault is Fault.BUSY else 500, {}, 0.0)
        if fault in (Fault.FORGETS_ONE, Fault.FORGETS_ALL) and self.call.is_running:
            self.call.forget(1 if fault is Fault.FORGETS_ONE else 100)
        if fault is Fault.APPLIED_LATE:
            self.late.append(asyncio.create_task(self.apply_late(body)))
            raise UnreachableError("applied late")
        if fault is Fault.SLOW:
            await asyncio.sleep(0.003)
        status, answer = self.call.report(json.loads(body), 30.0)
        if fault is Fault.ANSWER_LOST:
            raise UnreachableError("the answer is lost")
        if status != 200:
            raise from_answer(status, answer, 0.0)
        return EventsAnswer.read(answer, 1)

    async def apply_late(self, body: bytes) -> None:
        await asyncio.sleep(0.002)
        self.call.report(json.loads(body), 30.0)

    async def ride(self) -> None:
        """Send the pending events in a tool's request."""
        batch = await self.outbox.board(100)
        next_seq = None
        try:
            if batch:
                await self.post(report_body(batch))
                next_seq = batch[-1].seq + 1
        except Exception as error:
            number = getattr(error, "next_seq", None)
            next_seq = number if isinstance(number, int) else None
        finally:
            self.outbox.alight(batch, next_seq)

    async def settle(self) -> None:
        async with asyncio.timeout(10):
            await self.outbox.flush()
            await asyncio.gather(*self.late)


def told(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return events without number and time, and without the markers of refused ones."""
    plain = [{name: value for name, value in event.items() if name not in ("seq", "at")} for event in events]
    return [event for event in plain if event["type"] != "skipped"]


def allowed(events: list[Event]) -> list[dict[str, Any]]:
    """Return those of the events that the state of a call allows, one after the other."""
    call = FakeCall(1, entry(1), [])
    for event in events:
        call.report({"events": [{"seq": call.held + 1, **event.members()}]}, 30.0)
    return told(call.events)


def lines(count: int) -> list[Event]:
    return [Transcript("bot", f"line {number}") for number in range(count)]


START: list[Event] = [Dialing(), Ringing(), Answered("human")]


async def report_all(line: Line, events: list[Event]) -> None:
    for event in events:
        await line.outbox.report(event)


@pytest.mark.parametrize(
    ("events", "bodies"),
    [
        ([*START], [3]),
        ([*START, *lines(97)], [100]),
        ([*START, *lines(98)], [100, 1]),
        ([*START, *lines(240)], [100, 100, 43]),
        ([*START, *(Transcript("bot", "x" * 300_000) for _ in range(5))], [6, 2]),
        ([*START, *(Transcript("bot", "ü" * 200_000) for _ in range(3))], [5, 1]),
    ],
)
async def test_batches_have_at_most_a_hundred_events_and_a_mebibyte(events: list[Event], bodies: list[int]) -> None:
    line = Line()
    await report_all(line, events)
    await line.settle()
    assert [len(json.loads(body)["events"]) for body in line.bodies] == bodies
    assert told(line.call.events) == allowed(events)
    assert [event["seq"] for event in line.call.events] == list(range(1, len(events) + 1))
    assert line.delivered == len(events)


@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("at", [0, 1, 2])
async def test_each_fault_alone_loses_and_repeats_nothing(fault: Fault, at: int) -> None:
    line = Line([Fault.NONE] * at + [fault])
    for events in (START, lines(3), lines(2), [Ended("customer"), Cost(0.1, 0.2)]):
        await report_all(line, events)
        await line.settle()
    assert told(line.call.events) == allowed([*START, *lines(3), *lines(2), Ended("customer"), Cost(0.1, 0.2)])
    assert line.losses == line.wrongs == []


@pytest.mark.parametrize(
    ("events", "dropped"),
    [
        ([Answered(), Ringing(), *lines(2)], ["ringing"]),
        ([*lines(1), Answered(), Hold()], ["transcript"]),
        ([Answered(), *lines(40), Ringing(), *lines(40), Dialing(), *lines(2)], ["ringing", "dialing"]),
        ([Answered(), Transcript("bot", ""), *lines(1)], ["transcript"]),
        ([Ended("customer"), Answered()], ["ended"]),
    ],
)
async def test_what_the_state_does_not_allow_is_left_out_and_marked(events: list[Event], dropped: list[str]) -> None:
    line = Line()
    await report_all(line, events)
    await line.settle()
    assert told(line.call.events) == allowed(events)
    assert [event["event"] for event in line.call.of("skipped")] == dropped
    # The refused one among a hundred is found by halves.
    assert len(line.bodies) <= 2 + 14 * len(dropped)


@pytest.mark.parametrize(
    ("events", "kept"),
    [
        ([Failed("busy"), Answered(), Hold(), Cost(0, 0)], ["failed", "cost"]),
        ([Answered(), Ended("customer"), *lines(1), Variables({"a": 1}), Usage(stt_seconds=3)], None),
        ([Answered(), Ended("assistant"), Hold(), Dtmf("1"), Metrics(1), Ended("customer"), Cost(0, 0)], None),
    ],
)
async def test_after_the_end_only_what_belongs_there_is_sent(events: list[Event], kept: list[str] | None) -> None:
    line = Line()
    await report_all(line, events)
    await line.settle()
    assert told(line.call.events) == allowed(events)
    assert line.call.of("skipped") == []
    if kept is not None:
        assert line.call.types == kept


async def test_a_service_that_ended_the_call_itself_still_gets_its_cost() -> None:
    line = Line()
    await report_all(line, START)
    await line.settle()
    line.call.end("failed")
    await report_all(line, [*lines(3), Hold(), Variables({"a": 1}), Ended("customer"), Cost(0.1, 0.2)])
    await line.settle()
    assert line.call.types == ["dialing", "ringing", "answered", "transcript", "transcript", "transcript", "cost"]
    assert line.losses == line.wrongs == []


async def test_a_service_that_takes_no_marker_loses_nothing_but_the_refused() -> None:
    line = Line()
    line.call.refused_types = frozenset({"skipped"})
    events = [Answered(), *lines(3), Ringing(), *lines(2), Dialing(), Ended("customer"), Cost(1, 2)]
    for event in events:
        await line.outbox.report(event)
        await line.settle()
    assert told(line.call.events) == allowed(events)
    assert line.losses == line.wrongs == []


@pytest.mark.parametrize("next_seq", [0, 7, 10_000])
async def test_a_service_that_expects_what_never_was_ends_the_call(next_seq: int) -> None:
    line = Line()

    async def post(body: bytes) -> EventsAnswer:
        await asyncio.sleep(0)
        if not json.loads(body)["events"]:
            return EventsAnswer.read({}, 1)
        raise from_answer(409, {"message": "no", "next_seq": next_seq}, 0.0)

    line.outbox._post = post
    await report_all(line, START)
    await line.settle()
    # 0 is no number: such an answer refuses each event, and each marker.
    assert len(line.losses) == (next_seq > 0)
    assert len(line.outbox) == 0


async def test_what_a_service_forgot_is_sent_again_while_it_is_kept() -> None:
    line = Line()
    for _ in range(8):
        await report_all(line, [Answered(), *(Transcript("bot", "x" * 900_000) for _ in range(2))])
        await line.settle()
    line.faults.append(Fault.FORGETS_ONE)
    await report_all(line, lines(1))
    await line.settle()
    assert told(line.call.events)[-1] == lines(1)[0].members()
    assert line.losses == []
    line.faults.append(Fault.FORGETS_ALL)
    await report_all(line, lines(1))
    await line.settle()
    assert line.losses == ["The service asks for event 1 again, which is not kept."]


async def test_a_call_is_lost_when_the_service_is_away_longer_than_lease_and_patience() -> None:
    line = Line(lease_seconds=0.05, patience=0.05, is_down=True)
    await report_all(line, START)
    await line.settle()
    assert len(line.losses) == 1
    await line.outbox.report(Hold())
    assert len(line.outbox) == 0


async def test_events_wait_while_the_lease_is_renewed_by_heartbeats() -> None:
    line = Line(lease_seconds=0.05, patience=0.05, is_down=True)
    await report_all(line, START)
    with line.lease.held():
        await asyncio.sleep(0.15)
        assert line.losses == []
        line.is_down = False
        await line.settle()
    assert line.call.status == "in-progress"


async def test_a_full_queue_drops_partials_first_then_holds_the_reporter() -> None:
    line = Line(is_down=True)
    await line.outbox.report(Answered())
    await asyncio.sleep(0.01)
    for number in range(500):
        await line.outbox.report(Partial(number, "as far as it was understood"))
        await line.outbox.report(Metrics(number, total_ms=600))
    waits = asyncio.create_task(report_all(line, lines(2_100)))
    await asyncio.sleep(0.05)
    assert not waits.done()
    assert 1_990 <= len(line.outbox) <= 2_000
    line.is_down = False
    await waits
    await line.settle()
    assert told(line.call.of("transcript")) == [event.members() for event in lines(2_100)]
    assert line.call.of("partial") == []


async def test_a_partial_takes_the_place_of_one_that_waits() -> None:
    line = Line([Fault.SLOW])
    await report_all(line, [Answered()])
    await asyncio.sleep(0)
    await report_all(line, [Partial(1, "I"), Partial(1, "I would"), *lines(1), Partial(1, "I would like")])
    await line.settle()
    assert [event.get("text") for event in line.call.events] == [None, "line 0", "I would like"]


async def test_partials_come_at_most_five_times_a_second() -> None:
    line = Line()
    line.outbox._timing = Timing()
    await report_all(line, [Answered()])
    for number in range(20):
        await line.outbox.report(Partial(1, f"word {number}"))
        await line.outbox.flush()
    assert [event["text"] for event in line.call.of("partial")] == ["word 0"]


@pytest.mark.parametrize(
    "event",
    [Metrics(1, total_ms=float("nan")), Variables({"a": object()}), Transcript("bot", "x" * (1 << 20))],
)
async def test_what_is_no_event_is_refused_where_it_is_reported(event: Event) -> None:
    line = Line()
    with pytest.raises((ValueError, TypeError)):
        await line.outbox.report(event)
    assert len(line.outbox) == 0


async def test_pending_events_travel_with_a_tool_and_are_not_sent_twice() -> None:
    line = Line()
    await report_all(line, [Answered(), *lines(1)])
    batch = await line.outbox.board(100)
    assert [queued.type for queued in batch] == ["answered", "transcript"]
    await report_all(line, [Hold()])
    await asyncio.sleep(0.01)
    # The later event asked for the gap before it: the tool's request may be long under way, or lost.
    assert [len(json.loads(body)["events"]) for body in line.bodies] == [1, 3]
    line.outbox.alight(batch, None)
    await line.settle()
    assert line.call.types == ["answered", "transcript", "hold"]


EVENTS: list[Callable[[int], Event]] = [
    lambda _: Dialing(),
    lambda _: Ringing(),
    lambda _: Answered("human"),
    lambda n: Transcript("human", f"line {n}"),
    lambda n: Transcript("bot", "x" * (n % 5) * 100_000),
    lambda n: Variables({"n": n}),
    lambda n: Dtmf(str(n)),
    lambda _: Hold(),
    lambda n: Cost(n, n),
]


@settings(max_examples=150, deadline=None)
@given(
    steps=st.lists(st.tuples(st.integers(0, len(EVENTS) + 1), st.booleans()), max_size=60),
    faults=st.lists(st.sampled_from(list(Fault)), max_size=30),
    ends=st.booleans(),
)
def test_the_service_has_exactly_what_was_reported(
    steps: list[tuple[int, bool]], faults: list[Fault], ends: bool
) -> None:
    async def run() -> None:
        line, reported, rides = Line(list(faults)), [], []
        for number, (step, pauses) in enumerate(steps):
            if step < len(EVENTS):
                reported.append(EVENTS[step](number))
                await line.outbox.report(reported[-1])
            elif step == len(EVENTS):
                rides.append(asyncio.create_task(line.ride()))
            if pauses:
                await asyncio.sleep(0)
        tail: list[Event] = [Answered(), Ended("customer"), Cost(1, 2)] if ends else []
        for event in tail:
            reported.append(event)
            await line.outbox.report(event)
        await asyncio.gather(*rides)
        await line.settle()
        assert told(line.call.events) == allowed(reported)
        assert line.wrongs == line.losses == []
        assert len(line.outbox) == 0

    asyncio.run(run())


def queue_of(count: int) -> EventQueue:
    queue = EventQueue()
    for event in lines(count):
        queue.put(event)
    return queue


def test_a_refusal_that_an_acknowledgement_overtook_means_nothing() -> None:
    queue = queue_of(1)
    batch = queue.batch()
    queue.acknowledge(1)
    assert queue.refuse(batch) is None
    assert queue.conflict(batch, 2) is None


def test_halves_are_over_once_the_suspects_are_through() -> None:
    queue = queue_of(300)
    assert queue.refuse(queue.batch()) is None
    assert len(queue.batch()) == 50
    queue.acknowledge(50)
    assert len(queue.batch()) == 50
    queue.acknowledge(100)
    assert len(queue.batch()) == 100


def test_a_queued_event_keeps_its_bytes() -> None:
    queued = QueuedEvent(order=1, type="hold", json=b'{"type":"hold"}', seq=12)
    assert json.loads(queued.numbered()) == {"seq": 12, "type": "hold"}
