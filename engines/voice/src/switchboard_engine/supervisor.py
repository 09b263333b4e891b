"""The supervisor: a worker process a core, started again when it dies, drained together, hung up after when it crashed.

It carries no call and loads no conversation, so that what crashes a worker does not reach it.
"""

import asyncio
import logging
import os
import socket
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from .channel import Channel
from .client.backoff import Backoff
from .plugs import OrphanHook
from .scratch import Scratch
from .settings import RunSettings, WorkerStats
from .worker import EXIT_CONFIG

_log = logging.getLogger(__name__)

_LIVED_SECONDS = 10.0
"""A worker that ran this long did not die at once: the next start is not delayed."""
_SILENT_SECONDS = 60.0
"""A worker that says nothing for this long hangs, and is killed; loading a conversation takes some of it."""
_STOP_SECONDS = 8.0
"""How long workers may take to stop before they are killed."""
_DIALOGS_MAX = 10_000
"""How many dialogs of a worker are kept."""
_HOOK_SECONDS = 10.0
"""How long an orphan hook may take."""
ALLOCATION = {"MALLOC_ARENA_MAX": "2"}
"""glibc gives each of some forty threads memory of its own, and what is free there is of no use to the others: without
a limit a worker of five calls comes to rest 110 MB higher. The environment may say otherwise."""


@dataclass(slots=True)
class WorkerSlot:
    """A worker's place: its process, if one runs, and what it said last."""

    name: str
    number: int
    pid: int | None = None
    restarts: int = 0
    stats: WorkerStats = field(default_factory=WorkerStats)
    dialogs: dict[tuple[str, str], Mapping[str, Any]] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    channel: Channel | None = None

    def kill(self) -> None:
        """Kill the process, if one runs."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()


class Supervisor:
    """Runs the workers of one host until it is drained or stopped."""

    def __init__(self, settings: RunSettings, hooks: Mapping[str, OrphanHook] | None = None) -> None:
        """Take the settings, and an orphan hook for each leg that wants one."""
        self.settings = settings
        numbers = range(1, settings.workers + 1)
        self.slots = [WorkerSlot(f"{settings.worker.name}-{number}", number) for number in numbers]
        self.is_draining = False
        self._hooks = hooks or {}
        self._stopping = asyncio.Event()
        self._failure: str | None = None
        self._hook_tasks: set[asyncio.Task[None]] = set()
        self._timers: list[asyncio.TimerHandle] = []

    async def run(self) -> str | None:
        """Run until all workers are gone; return a sentence if another start would not help, else None."""
        try:
            scratch = Scratch()
        except OSError as error:
            return f"No directory for temporary files can be made: {error}."
        with scratch:
            async with asyncio.TaskGroup() as group:
                for slot in self.slots:
                    group.create_task(self._keep(slot, scratch))
        for timer in self._timers:
            timer.cancel()
        await asyncio.gather(*self._hook_tasks)
        return self._failure

    def signalled(self) -> None:
        """Drain at the first signal, stop at the second."""
        if self.is_draining:
            self.stop()
        else:
            self.drain()

    def drain(self) -> None:
        """Take no more calls; hang up what still runs after the settings' `drain_seconds`, and end."""
        _log.info("draining: running calls have %.0f s", self.settings.drain_seconds)
        self.is_draining = True
        self._stopping.set()
        self._send_all({"kind": "drain", "seconds": self.settings.drain_seconds})
        self._kill_after(self.settings.drain_seconds + 2 * _STOP_SECONDS)

    def stop(self) -> None:
        """Hang up and end."""
        _log.info("stopping at once")
        self.is_draining = True
        self._stopping.set()
        self._send_all({"kind": "stop"})
        self._kill_after(_STOP_SECONDS)

    async def _keep(self, slot: WorkerSlot, scratch: Scratch) -> None:
        """Keep a worker running."""
        backoff = Backoff(0.25, 30.0)
        while not self._stopping.is_set():
            started = time.monotonic()
            code = await self._run_worker(slot, scratch)
            if self._stopping.is_set():
                return
            if code == EXIT_CONFIG:
                self.stop()
                return
            if time.monotonic() - started >= _LIVED_SECONDS:
                backoff.reset()
            pause = backoff.pause()
            _log.error("%s died (exit code %d), it is started again in %.1f s", slot.name, code, pause)
            slot.restarts += 1
            try:
                async with asyncio.timeout(pause):
                    await self._stopping.wait()
            except TimeoutError:
                continue

    async def _run_worker(self, slot: WorkerSlot, scratch: Scratch) -> int:
        """Run a worker until it is gone, end the dialogs and remove the files that it left; return its exit code."""
        ours, theirs = socket.socketpair()
        with theirs:
            slot.process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "switchboard_engine.worker",
                str(theirs.fileno()),
                pass_fds=[theirs.fileno(), scratch.lock],
                stdin=asyncio.subprocess.DEVNULL,
                env={**ALLOCATION, **os.environ, "TMPDIR": str(scratch.make(slot.number))},
            )
        slot.pid = slot.process.pid
        slot.channel = await Channel.open(ours)
        try:
            worker = replace(self.settings.worker, name=slot.name, number=slot.number, workers=self.settings.workers)
            slot.channel.send(worker.message())
            if self._stopping.is_set():
                slot.channel.send({"kind": "stop"})
            await self._listen(slot, slot.channel)
            return await slot.process.wait()
        finally:
            slot.kill()
            scratch.remove(slot.number)
            await slot.channel.close()
            slot.pid, slot.channel = None, None
            slot.stats = WorkerStats()
            # Beside the next start: a hook may take its time.
            task = asyncio.create_task(self._end_orphans(slot.name, dict(slot.dialogs)))
            self._hook_tasks.add(task)
            slot.dialogs.clear()

    async def _listen(self, slot: WorkerSlot, channel: Channel) -> None:
        """Take what a worker says until it is gone, or hangs."""
        while True:
            try:
                async with asyncio.timeout(_SILENT_SECONDS):
                    message = await channel.receive()
            except TimeoutError:
                _log.error("%s hangs, it is killed", slot.name)
                slot.kill()
                continue
            match message:
                case None:
                    return
                case {"kind": "stats", "stats": stats}:
                    slot.stats = WorkerStats.read(stats)
                case {"kind": "dialog", "leg": leg, "key": key, "data": data}:
                    if len(slot.dialogs) < _DIALOGS_MAX or (leg, key) in slot.dialogs:
                        slot.dialogs[leg, key] = data
                case {"kind": "dialog over", "leg": leg, "key": key}:
                    slot.dialogs.pop((leg, key), None)
                case {"kind": "fatal", "message": failure}:
                    self._failure = failure

    async def _end_orphans(self, worker: str, left: Mapping[tuple[str, str], Mapping[str, Any]]) -> None:
        """Tell the legs' hooks which dialogs a worker left up."""
        by_leg: dict[str, list[Mapping[str, Any]]] = {}
        for (leg, _), data in left.items():
            by_leg.setdefault(leg, []).append(data)
        for leg, dialogs in by_leg.items():
            hook = self._hooks.get(leg)
            if hook is None:
                _log.warning("%s left %d dialogs of the leg %s, which has no hook", worker, len(dialogs), leg)
                continue
            try:
                async with asyncio.timeout(_HOOK_SECONDS):
                    await hook(dialogs)
            except Exception:
                _log.exception("%s: %d dialogs of the leg %s could not be ended", worker, len(dialogs), leg)

    def _send_all(self, message: Mapping[str, Any]) -> None:
        for slot in self.slots:
            if slot.channel is not None:
                slot.channel.send(message)

    def _kill_after(self, seconds: float) -> None:
        """Kill the workers that still run by then."""
        for slot in self.slots:
            self._timers.append(asyncio.get_running_loop().call_later(seconds, slot.kill))
