"""Conversations over real SIP and RTP on loopback, with synthetic speech both ways: what is heard, and how soon.

The engine runs as it is installed, in a process of its own. All times are taken from packets on the wire.
"""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest

from legs.peer import Peer
from support import claims
from support.fake_service import FakeService, entry

from .conftest import WAIT_S, assistant
from .script import Say, ScriptedModel
from .telephone import Customer, Heard, share, telephone
from .voices import understood
from .worker_process import Spent, WorkerProcess

GREETING = "hello this is anna"
TURNS = (
    ("what are your opening hours", "We open at nine."),
    ("please look up my order", "It was shipped yesterday."),
    ("thank you goodbye", "Thank you for calling, goodbye."),
)
STORY = (
    "please tell me about your shop",
    "It is a small shop at the corner of the market where we have sold bread and cakes and coffee to all of our "
    "neighbours on every morning of every week for more than forty years",
)
INTERRUPTION = ("stop please i have a question", "Of course, what is it?")
PHRASES = [said for said, _ in (*TURNS, STORY, INTERRUPTION)]
ANSWERS = [GREETING, "we open at nine", "it was shipped yesterday", "thank you for calling goodbye"]
ROUNDS = 3
INTERRUPTIONS = 4


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    """Answer the turns."""
    async with ScriptedModel({said: Say(answer) for said, answer in (*TURNS, STORY, INTERRUPTION)}) as model:
        yield model


@dataclass
class Calls:
    """What came of calls that were held at the same time."""

    heard: list[Heard]
    seconds: float
    spent: list[Spent]
    hung_up_ms: list[float] = field(default_factory=list)

    @property
    def answers_ms(self) -> list[float]:
        """The times to all answers."""
        return [ms for one in self.heard for ms in one.answers_ms]

    @property
    def silences_ms(self) -> list[float]:
        """The times to silence after all interruptions."""
        return [ms for one in self.heard for ms in one.silences_ms]


async def hold(service: FakeService, model: ScriptedModel, count: int) -> Calls:
    """Hold so many conversations at the same time, in one worker; the service hangs up."""
    prepare()
    worker = WorkerProcess(service, model.url, calls=count)
    peers = [await Peer.start() for _ in range(count)]
    try:
        await worker.ready()
        before, began = worker.spent(), time.monotonic()
        dial(service, dict(enumerate(peers, start=1)))
        customers = await asyncio.gather(*(converse(peer, 0.5 + 0.7 * nth) for nth, peer in enumerate(peers)))
        calls = Calls([one.heard for one in customers], time.monotonic() - began, [before, worker.spent()])
        for number, customer in enumerate(customers, start=1):
            calls.hung_up_ms.append(await hung_up(service, number, customer))
        await service.until(lambda: all(not call.is_running for call in service.calls.values()), WAIT_S)
    finally:
        for peer in peers:
            peer.close()
        await worker.stop()
    assert "Traceback" not in worker.output(), worker.output()
    return calls


def prepare() -> None:
    """Have what customers say spoken already: it is not to be done while something is measured."""
    for said in PHRASES:
        telephone(said)


def dial(service: FakeService, peers: Mapping[int, Peer], *, max_duration: int = 300) -> None:
    """Have the engine call each of the telephones, by the number of the call."""
    for number, peer in peers.items():
        offered = entry(number)
        offered["assistant"] = assistant()
        offered["assistant"]["transcriber_provider"]["engine"]["phrases"] = PHRASES
        offered["assistant"]["timings"]["max_duration"] = max_duration
        offered["telephony"] = {
            "kind": "sip", "trunk_id": number, "dial": "+12025550123", "address": peer.address, "from": "+1",
        }  # fmt: skip
        service.queue.append(offered)
    service.wake()


async def converse(peer: Peer, ring_s: float) -> Customer:
    """Pick up, go through the turns, then interrupt."""
    customer = await Customer.picks_up(peer, ring_s)
    for said, _ in TURNS * ROUNDS:
        await customer.asks(said)
    for _ in range(INTERRUPTIONS):
        await customer.asks(STORY[0])
        await customer.interrupts(INTERRUPTION[0], after_s=1.0)
    await customer.listens()
    return customer


async def hung_up(service: FakeService, number: int, customer: Customer) -> float:
    """Have the service hang up; returns the time to BYE on the wire, ms."""
    began = time.monotonic()
    service.command(number, "hangup")
    await customer.dialog.expect("BYE")
    return 1000 * (time.monotonic() - began)


def everything_was_understood(service: FakeService, calls: Calls) -> None:
    """Hold what both sides heard against what was said, exactly."""
    said = [*(said for said, _ in TURNS * ROUNDS), *([STORY[0], INTERRUPTION[0]] * INTERRUPTIONS)]
    for call, heard in zip(service.calls.values(), calls.heard, strict=True):
        assert [event["text"] for event in call.of("transcript") if event["sender"] == "human"] == said
        texts = [understood(sound, ANSWERS) for sound in heard.sounds[: 1 + ROUNDS * len(TURNS)]]
        assert texts == [GREETING, *(ANSWERS[1:] * ROUNDS)]
        assert call.of("quality")[0]["codec"] == "PCMU"


def stages(service: FakeService) -> str:
    """Return where the time of the turns went by the engine's own account: medians, ms."""
    events = [event for call in service.calls.values() for event in call.of("metrics")]
    names = sorted({name for event in events for name in event if name.endswith("_ms")})
    medians = {name: statistics.median(event.get(name, 0) for event in events) for name in names}
    return ", ".join(f"{name} {ms:.0f}" for name, ms in medians.items())


@pytest.mark.long
@pytest.mark.parametrize("count", [1, 5])
async def test_answers_come_soon(service: FakeService, model: ScriptedModel, count: int) -> None:
    calls = await hold(service, model, count)
    everything_was_understood(service, calls)
    answers, silences = calls.answers_ms, calls.silences_ms
    assert len(answers) == count * (ROUNDS * len(TURNS) + INTERRUPTIONS)
    assert len(model.requests) == len(answers) + len(silences)
    print(f"{count} calls, {len(answers)} answers: {sorted(map(round, answers))}; {stages(service)}")
    print(f"greetings {[round(one.greeting_ms) for one in calls.heard]}, silences {sorted(map(round, silences))}")
    of = "one call" if count == 1 else f"{count} calls in a process"
    before, after = calls.spent
    core = (after.own_s - before.own_s) / calls.seconds / count
    programs = (after.programs_s - before.programs_s) / calls.seconds / count
    claims.tell(
        claims.at_most(f"End of speech to the answer, {of}: p50", 650, share(answers, 0.5), "ms"),
        claims.at_most(f"End of speech to the answer, {of}: p95", 800, share(answers, 0.95), "ms"),
        claims.at_most(
            f"Answered to the greeting, {of}: p50", 300, share([one.greeting_ms for one in calls.heard], 0.5), "ms"
        ),
        claims.at_most(f"Interruption to silence, {of}: p50", 450, share(silences, 0.5), "ms"),
        claims.at_most(f"Interruption to silence, {of}: p95", 650, share(silences, 0.95), "ms"),
        claims.at_most(f"Hang-up by the service to BYE, {of}: longest", 300, max(calls.hung_up_ms), "ms"),
        claims.at_most(f"Longest gap between packets, {of}", 100, max(one.gap_ms for one in calls.heard), "ms"),
        claims.stated(f"Processor time of a call, {of}", 100 * core, "% of a core"),
        claims.stated(f"The same of the programs that it runs, {of}", 100 * programs, "% of a core"),
        claims.stated(f"Memory of the worker, {of}", after.resident_mb, "MB"),
        claims.stated(f"Memory of a call, {of}", (after.resident_mb - before.resident_mb) / count, "MB"),
    )
