"""What a worker does with calls whose handlers do not do their part."""

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from support.engines import engine_of
from support.fake_service import TOKEN, FakeService
from support.handlers import Cycle
from switchboard_engine.channel import Channel
from switchboard_engine.dialogs import Dialogs
from switchboard_engine.settings import WorkerSettings, WorkerStats
from switchboard_engine.worker import Worker


@asynccontextmanager
async def worker_of(service: FakeService, handler: str) -> AsyncIterator[Channel]:
    """Run a worker in this process, with quick heartbeats; yields the supervisor's end of its channel."""
    ours, theirs = socket.socketpair()
    supervisor, channel = await Channel.open(ours), await Channel.open(theirs)
    worker = Worker(WorkerSettings(service.url, TOKEN, "desk-1", handler=f"support.handlers:{handler}"), channel)
    worker._engine = engine_of(service)
    running = asyncio.create_task(worker.run())
    try:
        yield supervisor
    finally:
        supervisor.send({"kind": "stop"})
        async with asyncio.timeout(60):
            await running
        await supervisor.close()
        await channel.close()


async def stats_with(channel: Channel, outcome: str) -> WorkerStats:
    """Return the next stats in which a call came out like this."""
    async with asyncio.timeout(60):
        async for message in channel.messages():
            stats = WorkerStats.read(message["stats"])
            if outcome in stats.ended:
                return stats
    raise AssertionError(outcome)


async def test_a_handler_that_goes_on_with_a_lost_call_is_ended(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard_engine.worker._LOST_SECONDS", 0.1)
    monkeypatch.setattr("switchboard_engine.worker._STATS_SECONDS", 0.05)
    async with worker_of(service, "deaf") as channel:
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].status == "in-progress")
        service.lost.add(1)
        stats = await stats_with(channel, "lost")
        assert (stats.running, stats.claimed, stats.ended, stats.pending) == (0, 1, {"lost": 1}, 0)


async def test_each_call_is_counted_by_how_it_came_out(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard_engine.worker._STATS_SECONDS", 0.05)
    async with worker_of(service, "broken") as channel:
        service.offer(1)
        assert (await stats_with(channel, "released")).ended == {"released": 1}
    async with worker_of(service, "brief") as channel:
        service.offer(2)
        assert (await stats_with(channel, "ended")).ended == {"ended": 1}


async def test_what_a_call_leaves_is_freed(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard_engine.worker._FREE_SECONDS", 0.05)
    gc.disable()  # as if there were few objects
    try:
        async with worker_of(service, "cyclic"):
            service.offer(1, 2)
            await service.until(lambda: len(Cycle.left) == 2 and all(known() is None for known in Cycle.left))
    finally:
        gc.enable()
        gc.unfreeze()


def test_dialogs_are_told_while_somebody_listens() -> None:
    told: list[Mapping[str, Any]] = []
    dialogs = Dialogs()
    dialogs.up("sip", "1", {})
    dialogs.tell(told.append)
    dialogs.up("sip", "2", {"tag": "x"})
    dialogs.down("sip", "2")
    dialogs.tell(None)
    dialogs.down("sip", "1")
    assert told == [
        {"kind": "dialog", "leg": "sip", "key": "2", "data": {"tag": "x"}},
        {"kind": "dialog over", "leg": "sip", "key": "2"},
    ]


async def test_half_a_message_of_a_dead_process_is_none() -> None:
    ours, theirs = socket.socketpair()
    channel = await Channel.open(ours)
    theirs.sendall(b'{"kind":"stats"}\n{"kind":"dial')
    theirs.close()
    assert [message async for message in channel.messages()] == [{"kind": "stats"}]
    await channel.close()
