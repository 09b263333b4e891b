"""Hours of five calls at once, with packets lost: nothing may grow, and nobody may be left without an answer.

    SWITCHBOARD_SOAK_MINUTES=45 pytest -s -m long tests/conversation/test_soak.py

are two runs of 45 minutes: one of calls that last, one of calls that follow each other. Without it each takes two.
"""

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import pytest

from legs.peer import Peer
from support import claims
from support.fake_service import FakeService

from .conftest import WAIT_S
from .script import ScriptedModel
from .telephone import Customer, share
from .test_sip import INTERRUPTION, STORY, TURNS, dial, model, prepare
from .worker_process import Spent, WorkerProcess

__all__ = ["model"]

MINUTES = float(os.environ.get("SWITCHBOARD_SOAK_MINUTES") or 2)
CALLS = 5
LOSS = 0.02
SAMPLE_S = 2.0
GROWTH = 1.05
"""Memory and threads of the last third of a run over those of the second, at most."""
REPEATED = 0.01
"""The share of phrases that a customer may have to say again: with packets lost, a word may be."""
AGAIN = 3
"""How often a customer says a phrase again before the call counts as deaf: a busy machine may lose two in a row."""


@dataclass
class Soak:
    """A run: until when, and what was seen in it."""

    service: FakeService
    model: ScriptedModel
    worker: WorkerProcess
    until: float
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    answers_ms: list[float] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)
    gap_ms: float = 0.0
    calls: int = 0
    repeated: int = 0
    numbers_of: dict[Customer, int] = field(default_factory=dict)

    @property
    def goes_on(self) -> bool:
        """Whether its time is not over."""
        return time.monotonic() < self.until

    async def picks_up(self, peer: Peer) -> Customer:
        """Have a telephone called, and answer."""
        number = next(self.numbers)
        dial(self.service, {number: peer}, max_duration=4 * 60 * 60)
        customer = await Customer.picks_up(peer, 0.3)
        customer.dialog.media.loss = LOSS
        self.calls += 1
        self.numbers_of[customer] = number
        return customer

    async def asks(self, customer: Customer, text: str) -> None:
        """Say something, and again if nobody answers."""
        call = self.service.calls[self.numbers_of[customer]]
        await customer.listens()
        for _ in range(1 + AGAIN):
            try:
                return await customer.repeats(text)
            except TimeoutError:
                self.repeated += 1
                print(f"no answer to {text!r}; the last events:", *call.events[-8:], sep="\n  ")
        # What the line was like is told at its end.
        customer.dialog.bye()
        await self.service.until(lambda: "quality" in call.types, WAIT_S)
        sent = customer.dialog.media.packets
        raise AssertionError(f"a deaf call: {sent} packets sent to it; {call.events[-4:]}; {self.worker.errors()}")

    async def talks(self, customer: Customer) -> None:
        """Go through some turns and an interruption, and keep the figures."""
        for said, _ in TURNS:
            await self.asks(customer, said)
        await self.asks(customer, STORY[0])
        await asyncio.sleep(1.0)
        if customer.is_spoken_to:  # with losses, another question may have been understood
            await customer.interrupts(INTERRUPTION[0], after_s=0.0)
        heard = customer.heard
        self.answers_ms += heard.answers_ms
        self.gap_ms = max(self.gap_ms, heard.gap_ms)
        # What this process keeps of hours would be gigabytes.
        for kept in (heard.answers_ms, heard.silences_ms, heard.sounds, self.service.requests, self.model.requests):
            kept.clear()

    async def samples(self) -> None:
        """Follow the worker's memory and threads."""
        while True:
            self.spent.append(self.worker.spent())
            await asyncio.sleep(SAMPLE_S)


async def lasting(soak: Soak, peer: Peer) -> None:
    """Hold one call all the time."""
    customer = await soak.picks_up(peer)
    while soak.goes_on:
        await soak.talks(customer)
    await customer.hangs_up()


async def following(soak: Soak, peer: Peer) -> None:
    """Hold one call after the other."""
    while soak.goes_on:
        customer = await soak.picks_up(peer)
        await soak.talks(customer)
        await customer.hangs_up()


def third(samples: list[float], nth: int) -> float:
    """Return the median of a third of the samples, 1 to 3."""
    size = len(samples) // 3
    return statistics.median(samples[(nth - 1) * size : nth * size])


@pytest.fixture
async def peers() -> AsyncIterator[list[Peer]]:
    """Open the telephones."""
    peers = [await Peer.start() for _ in range(CALLS)]
    yield peers
    for peer in peers:
        peer.close()


@pytest.mark.long
@pytest.mark.parametrize("kind", [lasting, following])
async def test_nothing_grows_while_packets_are_lost(
    service: FakeService,
    model: ScriptedModel,
    peers: list[Peer],
    kind: Callable[[Soak, Peer], Coroutine[Any, Any, None]],
) -> None:
    prepare()
    worker = WorkerProcess(service, model.url, calls=CALLS)
    try:
        await worker.ready()
        soak = Soak(service, model, worker, time.monotonic() + 60 * MINUTES)
        sampling = asyncio.create_task(soak.samples())
        await asyncio.gather(*(kind(soak, peer) for peer in peers))
        await service.until(lambda: all(not call.is_running for call in service.calls.values()), WAIT_S)
        sampling.cancel()
    finally:
        await worker.stop()
    assert {call.status for call in service.calls.values()} == {"ended_by_customer"}
    assert "Traceback" not in worker.output(), worker.output()
    how = "last" if kind is lasting else "follow each other"
    of = f"{CALLS} calls that {how}, {LOSS:.0%} lost, {MINUTES:g} minutes"
    memory, threads = [one.resident_mb for one in soak.spent], [float(one.threads) for one in soak.spent]
    print(f"{soak.calls} calls, {len(soak.answers_ms)} answers; memory, MB: {[round(mb) for mb in memory[::15]]}")
    claims.tell(
        claims.stated(f"End of speech to the answer, {of}: p50", share(soak.answers_ms, 0.5), "ms"),
        claims.stated(f"End of speech to the answer, {of}: p95", share(soak.answers_ms, 0.95), "ms"),
        claims.stated(f"Longest gap between packets, {of}", soak.gap_ms, "ms"),
        claims.at_most(f"Share of phrases said again, {of}", REPEATED, soak.repeated / len(soak.answers_ms), ""),
        claims.at_most(f"Memory at the end over the middle, {of}", GROWTH, third(memory, 3) / third(memory, 2), ""),
        claims.at_most(f"Threads at the end over the middle, {of}", GROWTH, third(threads, 3) / third(threads, 2), ""),
        claims.stated(f"Memory of the worker, {of}", third(memory, 3), "MB"),
    )
