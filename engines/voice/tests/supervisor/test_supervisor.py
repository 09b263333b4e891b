"""Workers are started again, drained and stopped, and what a dead one left is ended."""

import asyncio
import os
import re
import signal
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support import handlers
from support.fake_service import TOKEN, FakeService, Fault
from switchboard_engine.health import health, metrics
from switchboard_engine.plugs import OrphanHook, PlugError, load
from switchboard_engine.scratch import Scratch
from switchboard_engine.settings import RunSettings, WorkerSettings
from switchboard_engine.supervisor import Supervisor, WorkerSlot

ROOT = Path(__file__).parents[2]
WAIT_S = 25.0  # less than what hangs here hangs


@pytest.fixture(autouse=True)
def python_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find the package and the handlers."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}")
    handlers.ended.clear()


def supervisor_of(
    service: FakeService,
    handler: str = "steady",
    *,
    workers: int = 1,
    drain_seconds: float = 30.0,
    legs: dict[str, str] | None = None,
    hook: OrphanHook = handlers.end_dialogs,
) -> Supervisor:
    name = handler if ":" in handler else f"support.handlers:{handler}"
    worker = WorkerSettings(service.url, TOKEN, "desk", handler=name, legs=legs or {}, log_level="DEBUG")
    return Supervisor(RunSettings(worker, workers=workers, drain_seconds=drain_seconds), {"sip": hook})


@asynccontextmanager
async def running(supervisor: Supervisor) -> AsyncIterator[asyncio.Task[str | None]]:
    """Run a supervisor, and stop it at the end."""
    task = asyncio.create_task(supervisor.run())
    try:
        yield task
    finally:
        if not task.done():
            supervisor.stop()
        async with asyncio.timeout(WAIT_S):
            await task


def entries(folder: Path) -> list[Path]:
    """Return what is in a folder."""
    return list(folder.iterdir())


async def test_calls_run_in_workers_of_their_own_names(service: FakeService) -> None:
    supervisor = supervisor_of(service, workers=2)
    async with running(supervisor):
        await service.until(lambda: {body["engine"] for body in service.of("claim")} == {"desk-1", "desk-2"})
        service.offer(*range(1, 11))
        await service.until(lambda: sum(call.status == "in-progress" for call in service.calls.values()) == 10)
        pids = {call.of("variables")[0]["variables"]["pid"] for call in service.calls.values()}
        assert pids == {slot.pid for slot in supervisor.slots}
        for call_id in range(1, 11):
            service.command(call_id, "hangup")
        await service.until(lambda: all(call.types[-1] == "cost" for call in service.calls.values()))
        await service.until(lambda: "calls_ended_total" in _samples(supervisor, 'reason="assistant"} 5'))
        await service.until(lambda: health(supervisor) == (True, {"desk-1": "ok", "desk-2": "ok"}))
        text = metrics(supervisor)
        for sample in (
            'calls_running{worker="desk-1"} 0',
            'calls_claimed_total{worker="desk-2"} 5',
            'calls_ended_total{worker="desk-1",reason="assistant"} 5',
            'events_queued{worker="desk-1"} 0',
            'events_sent_total{worker="desk-1"} 30',
            'worker_up{worker="desk-2"} 1',
            'worker_restarts_total{worker="desk-2"} 0',
        ):
            assert f"switchboard_engine_{sample}\n" in text
        assert "heartbeat_age_seconds" in _samples(supervisor, 'worker="desk-1"')


def _samples(supervisor: Supervisor, containing: str) -> str:
    return "\n".join(line for line in metrics(supervisor).splitlines() if containing in line)


@pytest.mark.parametrize("within_s", [20.0, pytest.param(2.0, marks=pytest.mark.long)])
async def test_a_worker_that_was_killed_is_back_and_its_dialogs_are_ended(
    service: FakeService, within_s: float
) -> None:
    supervisor = supervisor_of(service)
    async with running(supervisor):
        service.offer(1, 2, 3)
        await service.until(lambda: sum(call.status == "in-progress" for call in service.calls.values()) == 3)
        service.command(3, "hangup")
        await service.until(lambda: service.calls[3].types[-1] == "cost")
        first = supervisor.slots[0].pid
        assert first is not None
        claims = len(service.of("claim"))
        os.kill(first, signal.SIGKILL)
        started = time.monotonic()
        await service.until(lambda: len(service.of("claim")) > claims and service.last("claim", "engine") == "desk-1")
        assert time.monotonic() - started < within_s
        assert supervisor.slots[0].pid not in (None, first)
        assert supervisor.slots[0].restarts == 1
        await service.until(lambda: len(handlers.ended) > 0)
        assert handlers.ended == [{"dialog": "of call 1"}, {"dialog": "of call 2"}]
        service.offer(4)
        await service.until(lambda: 4 in service.calls and service.calls[4].status == "in-progress")


async def test_a_worker_that_was_killed_leaves_no_files(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    supervisor = supervisor_of(service, "littering")

    async def written(call_id: int) -> Path:
        service.offer(call_id)
        await service.until(lambda: call_id in service.calls and bool(service.calls[call_id].of("variables")))
        return Path(service.calls[call_id].of("variables")[0]["variables"]["wrote"])

    async with running(supervisor):
        first = await written(1)
        assert first.exists()
        pid = supervisor.slots[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await service.until(lambda: supervisor.slots[0].pid not in (None, pid))
        assert not first.exists()
        second = await written(2)
        assert second.exists()
    assert not second.exists()
    assert entries(tmp_path) == []


async def test_no_room_for_temporary_files_ends_the_supervisor(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "none"))
    assert "No directory for temporary files can be made: " in (await supervisor_of(service).run() or "")


async def test_a_hook_that_fails_stops_nothing(service: FakeService) -> None:
    supervisor = supervisor_of(service, hook=handlers.fail_to_end)
    async with running(supervisor):
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].status == "in-progress")
        pid = supervisor.slots[0].pid
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        await service.until(lambda: supervisor.slots[0].pid not in (None, pid))
        service.offer(2)
        await service.until(lambda: 2 in service.calls and service.calls[2].status == "in-progress")


async def test_a_worker_that_hangs_is_killed(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard_engine.supervisor._SILENT_SECONDS", 1.5)
    supervisor = supervisor_of(service, "frozen")
    async with running(supervisor):
        service.offer(1)
        await service.until(lambda: supervisor.slots[0].restarts == 1)


async def test_a_worker_that_does_not_stop_is_killed(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard_engine.supervisor._STOP_SECONDS", 0.3)
    supervisor = supervisor_of(service, "frozen")
    async with running(supervisor) as task:
        service.offer(1)
        await service.until(lambda: 1 in service.calls)
        supervisor.stop()
        async with asyncio.timeout(WAIT_S):
            assert await task is None


@pytest.mark.parametrize(
    ("lived_seconds", "steps"),
    [
        # Steps of 0.25, 0.5 and 1 s, each jittered downwards by half at most, and shown with one decimal.
        (10.0, [(0.1, 0.3), (0.2, 0.5), (0.5, 1.0)]),
        # A worker that lived long enough did not die at once.
        (0.0, [(0.1, 0.3), (0.1, 0.3), (0.1, 0.3)]),
    ],
)
async def test_a_worker_that_dies_at_once_is_started_with_growing_pauses(
    service: FakeService,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    lived_seconds: float,
    steps: list[tuple[float, float]],
) -> None:
    async def die(_supervisor: Supervisor, _slot: WorkerSlot, _scratch: Scratch) -> int:
        await asyncio.sleep(0)
        return -9

    monkeypatch.setattr(Supervisor, "_run_worker", die)
    monkeypatch.setattr("switchboard_engine.supervisor._LIVED_SECONDS", lived_seconds)
    supervisor = supervisor_of(service)
    async with running(supervisor):
        await service.until(lambda: supervisor.slots[0].restarts == 3)
    pauses = [float(found) for found in re.findall(r"is started again in ([0-9.]+) s", caplog.text)]
    assert len(pauses) == 3
    assert all(low <= pause <= high for pause, (low, high) in zip(pauses, steps, strict=True)), pauses


async def test_drained_workers_let_their_calls_end(service: FakeService) -> None:
    supervisor = supervisor_of(service)
    async with running(supervisor) as task:
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].status == "in-progress")
        supervisor.signalled()
        await service.until(lambda: service.last("claim", "capacity") == 0)
        assert health(supervisor) == (False, {"desk-1": "draining"})
        service.offer(2)
        await asyncio.sleep(0.2)
        assert not task.done()
        service.command(1, "hangup")
        async with asyncio.timeout(WAIT_S):
            assert await task is None
    assert service.calls[1].types[-2:] == ["ended", "cost"]
    assert len(service.queue) == 1
    assert supervisor.slots[0].restarts == 0


@pytest.mark.parametrize("second_signal", [False, True])
async def test_what_outlasts_the_drain_is_hung_up(service: FakeService, second_signal: bool) -> None:
    supervisor = supervisor_of(service, "deaf", drain_seconds=30.0 if second_signal else 0.5)
    async with running(supervisor) as task:
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].status == "in-progress")
        supervisor.signalled()
        if second_signal:
            supervisor.signalled()
        async with asyncio.timeout(WAIT_S):
            assert await task is None
    assert service.calls[1].events[-1]["reason"] == "the engine stops"
    assert service.calls[1].status == "ended"


async def test_a_dialog_that_a_stopping_worker_left_up_is_ended_too(service: FakeService) -> None:
    supervisor = supervisor_of(service, "forgetful")
    async with running(supervisor) as task:
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].status == "in-progress")
        supervisor.stop()
        assert await task is None
    assert handlers.ended == [{"dialog": "of call 1"}]


async def test_workers_stop_although_the_service_never_came_up(service: FakeService) -> None:
    supervisor = supervisor_of(service)
    service.plan = lambda _kind, _nth: Fault.BUSY
    async with running(supervisor) as task:
        await service.until(lambda: supervisor.slots[0].pid is not None)
        await asyncio.sleep(1)
        assert health(supervisor) == (False, {"desk-1": "detached"})
        supervisor.signalled()
        async with asyncio.timeout(WAIT_S):
            assert await task is None


async def test_a_worker_ends_when_its_supervisor_is_gone(service: FakeService) -> None:
    supervisor = supervisor_of(service, "deaf")
    async with running(supervisor):
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].status == "in-progress")
        channel = supervisor.slots[0].channel
        assert channel is not None
        supervisor._stopping.set()
        await channel.close()
        await service.until(lambda: service.calls[1].status == "ended")


@pytest.mark.parametrize(
    ("handler", "types"),
    [
        ("brief", ["dialing", "answered", "transcript", "ended"]),
        ("broken", ["release"]),
    ],
)
async def test_a_call_never_outlives_its_conversation(service: FakeService, handler: str, types: list[str]) -> None:
    async with running(supervisor_of(service, handler)):
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].types == types)


async def test_a_leg_brings_calls_to_the_same_conversation(service: FakeService) -> None:
    async with running(supervisor_of(service, legs={"sip": "support.handlers:inbound_leg"})):
        await service.until(lambda: any(call.status == "in-progress" for call in service.calls.values()))
        (call_id,) = service.calls
        service.command(call_id, "hangup")
        await service.until(lambda: service.calls[call_id].types[-1] == "cost")
        await service.until(lambda: service.last("heartbeat", "legs") == ["sip"])


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("support.handlers:missing", "support.handlers:missing cannot be loaded as module:function"),
        ("support.handlers:NOT_CALLABLE", "support.handlers:NOT_CALLABLE is no function"),
        ("no.such.module:x", "No module named"),
        ("support.handlers", "cannot be loaded"),
        ("", "cannot be loaded"),
    ],
)
def test_what_cannot_be_plugged_in_is_said_in_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(PlugError, match=re.escape(sentence)):
        load(name)


async def test_what_another_start_would_not_change_ends_the_supervisor(service: FakeService) -> None:
    supervisor = supervisor_of(service, "support.handlers:missing", workers=2)
    async with asyncio.timeout(WAIT_S):
        assert "support.handlers:missing cannot be loaded" in (await supervisor.run() or "")


async def test_a_wrong_token_or_an_old_service_ends_the_supervisor(service: FakeService) -> None:
    service.is_token_valid = False
    async with asyncio.timeout(WAIT_S):
        assert "refuses the engine token (401" in (await supervisor_of(service).run() or "")
    service.is_token_valid, service.protocol = True, 1
    async with asyncio.timeout(WAIT_S):
        assert "speaks only edition 1" in (await supervisor_of(service).run() or "")


async def test_a_token_that_is_revoked_ends_the_supervisor(service: FakeService) -> None:
    supervisor = supervisor_of(service)
    async with asyncio.timeout(WAIT_S):
        task = asyncio.create_task(supervisor.run())
        await service.until(lambda: len(service.of("claim")) > 0)
        service.is_token_valid = False
        service.wake()
        assert "refuses the engine token (401" in (await task or "")


async def test_no_worker_writes_the_token(service: FakeService, capfd: pytest.CaptureFixture[str]) -> None:
    supervisor = supervisor_of(service, "brief")
    async with running(supervisor):
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].status == "ended")
        command_line = await asyncio.to_thread(Path(f"/proc/{supervisor.slots[0].pid}/cmdline").read_bytes)
        assert TOKEN.encode() not in command_line
    written = "".join(capfd.readouterr())
    assert "desk-1" in written
    assert TOKEN not in written
