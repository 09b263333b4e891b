"""A worker process: one engine, a handler for each of its calls, and the legs that bring some of them.

It is started by a supervisor, which tells it what to do over a channel; when that closes, the supervisor is gone, and
the worker hangs up and ends too.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Protocol, Self

from .channel import Channel
from .client import Call, ClaimFilter, Engine, ForbiddenError, ProtocolError, UnauthenticatedError
from .dialogs import dialogs
from .legs.leg import LegError
from .legs.settings import WORKER_MARK
from .plugs import LEGS, SERVICES_VARIABLE, Handler, LegFactory, PlugError, load
from .settings import WorkerSettings, WorkerStats

_log = logging.getLogger(__name__)

EXIT_CONFIG = 78
"""Exit code for what another start would not change: a wrong token, URL, or plug (sysexits.h, EX_CONFIG)."""

_STATS_SECONDS = 1.0
_LOST_SECONDS = 10.0
"""How long a handler may take to hang up a call that is lost."""
_HANG_UP_SECONDS = 3.0
"""How long handlers may take to hang up when the worker stops."""
_LAST_CALLS_SECONDS = 300.0
"""How long calls may go on after a leg has taken its last one, before the worker is replaced."""
_STOP_SECONDS = 10.0
"""How long the worker may take to stop."""
_FREE_SECONDS = 1.0
"""How long after the end of a call its memory is freed."""


class NamedLegs(Protocol):
    """The legs of this package, which are loaded only where they are run."""

    @property
    def refused(self) -> Mapping[str, Mapping[str, int]]:
        """As in `WorkerStats`."""

    @property
    def trunk_states(self) -> Mapping[str, str]:
        """As in `WorkerStats`."""

    async def __aenter__(self) -> Self: ...

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class Worker:
    """The engine of one process, and what is done with its calls."""

    def __init__(self, settings: WorkerSettings, channel: Channel) -> None:
        """Load what is plugged in; raises `PlugError`, and `ValueError` for a wrong URL or token."""
        self._settings = settings
        self._channel = channel
        if settings.services is not None:
            os.environ[SERVICES_VARIABLE] = settings.services
        self._handler: Handler = load(settings.handler)
        self._legs: list[LegFactory] = [load(name) for name in settings.legs.values() if name]
        self._engine = Engine(
            settings.url,
            settings.token,
            name=settings.name,
            capacity=settings.capacity,
            modes=settings.modes,
            legs=[*settings.named_legs, *settings.legs],
            only=ClaimFilter(settings.account_ids, settings.trunk_ids, settings.types),
            web_url=settings.web_url and settings.web_url.replace(WORKER_MARK, str(settings.number)),
        )
        self._named_legs: NamedLegs | None = None
        if settings.named_legs:
            self._named_legs = load(LEGS)(settings, self._engine, self.carry)
        self._carrying: set[asyncio.Task[None]] = set()
        self._freeing: asyncio.TimerHandle | None = None
        self._outcomes: Counter[str] = Counter()
        self._drain = asyncio.Event()
        self._stop = asyncio.Event()
        self._drain_seconds = 0.0

    async def run(self) -> None:
        """Carry calls until the supervisor says otherwise, or is gone.

        Raises `UnauthenticatedError`, `ForbiddenError`, `ProtocolError`, and `PlugError` of the handler.
        """
        tasks = [asyncio.create_task(work) for work in (self._obey(), self._tell())]
        attached = asyncio.create_task(self._attached())
        drain, stop = asyncio.create_task(self._drain.wait()), asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({attached, drain}, return_when=asyncio.FIRST_COMPLETED)
            if self._engine.info is None:
                # It waits for a service that is not there.
                attached.cancel()
            await asyncio.wait({attached, stop}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({attached}, timeout=_STOP_SECONDS)
        finally:
            for task in (*tasks, drain, stop):
                task.cancel()
            attached.cancel()
            await asyncio.wait({attached})
        if not attached.cancelled():
            attached.result()

    async def carry(self, call: Call) -> None:
        """Have a call carried by the handler, and see that it ends."""
        task = self._start(call)
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()

    def _start(self, call: Call) -> asyncio.Task[None]:
        task = asyncio.create_task(self._carry(call), name=f"call {call.id}")
        self._carrying.add(task)
        task.add_done_callback(self._carried)
        return task

    def _carried(self, task: asyncio.Task[None]) -> None:
        self._carrying.discard(task)
        if self._freeing is None:
            self._freeing = asyncio.get_running_loop().call_later(_FREE_SECONDS, self._free)

    def _free(self) -> None:
        """Free what calls have left: few objects in cycles, for which Python sees no hurry, and models of 20 MB."""
        self._freeing = None
        gc.collect()

    async def _carry(self, call: Call) -> None:
        try:
            await self._handle(call)
        except asyncio.CancelledError:
            await call.ended("engine", "the engine stops")
        except Exception:
            _log.exception("call %d: its conversation broke", call.id)
            await call.release("the conversation broke")
        finally:
            self._outcomes[call.outcome or "failed"] += 1

    async def _handle(self, call: Call) -> None:
        """Run the handler; one that goes on with a call that is lost is ended."""
        handling = asyncio.ensure_future(self._handler(call))
        lost = asyncio.create_task(call.lost.wait())
        try:
            await asyncio.wait({handling, lost}, return_when=asyncio.FIRST_COMPLETED)
            if lost.done():
                await asyncio.wait({handling}, timeout=_LOST_SECONDS)
            if handling.done():
                handling.result()
                if not call.is_over:
                    await call.ended("engine", "the conversation ended")
        finally:
            lost.cancel()
            handling.cancel()
            await asyncio.wait({handling})

    async def _attached(self) -> None:
        """Claim calls and have them carried until the worker is drained or stopped, then hang up what is left."""
        await self._warm_up()  # before the engine is attached: it claims from then on
        # To look through what is loaded by now, which stays, takes 200 ms, for which all calls would stand still.
        gc.collect()
        gc.freeze()
        async with self._engine as engine, AsyncExitStack() as legs:
            if self._named_legs is not None:
                await legs.enter_async_context(self._named_legs)
            for leg in self._legs:
                await legs.enter_async_context(leg(engine, self.carry))
            drain, claiming = asyncio.create_task(self._drain.wait()), asyncio.create_task(self._claim())
            try:
                await asyncio.wait({drain, claiming}, return_when=asyncio.FIRST_COMPLETED)
                if not drain.done():
                    self._drain_seconds = 0.0 if claiming.exception() else _LAST_CALLS_SECONDS
                engine.drain()
                await claiming
            finally:
                drain.cancel()
                claiming.cancel()
                await self._see_calls_out()

    async def _warm_up(self) -> None:
        """Have the handler load what its first call would otherwise wait for, if it knows how to."""
        warm_up = getattr(self._handler, "warm_up", None)
        if warm_up is not None:
            try:
                await warm_up()
            except PlugError:
                raise
            except Exception:
                _log.exception("the conversation was not warmed up")

    async def _claim(self) -> None:
        async for call in self._engine.calls():
            self._start(call)

    async def _see_calls_out(self) -> None:
        """Wait for the running calls as long as the supervisor allows, then hang up."""
        stop, idle = asyncio.create_task(self._stop.wait()), asyncio.create_task(self._idle())
        await asyncio.wait({stop, idle}, timeout=self._drain_seconds, return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()
        idle.cancel()
        for task in tuple(self._carrying):
            task.cancel()
        if self._carrying:
            await asyncio.wait(set(self._carrying), timeout=_HANG_UP_SECONDS)

    async def _idle(self) -> None:
        """Wait until every call that is carried has its end, with what follows it."""
        while self._carrying:
            await asyncio.wait(set(self._carrying))

    async def _obey(self) -> None:
        """Do what the supervisor says; when it is gone, stop."""
        async for message in self._channel.messages():
            if message.get("kind") == "drain":
                self._drain_seconds = float(message["seconds"])
                self._drain.set()
            elif message.get("kind") == "stop":
                break
        self._drain.set()
        self._stop.set()

    async def _tell(self) -> None:
        while True:
            self._channel.send({"kind": "stats", "stats": self._stats().message()})
            await asyncio.sleep(_STATS_SECONDS)

    def _stats(self) -> WorkerStats:
        engine = self._engine
        return WorkerStats(
            running=len(engine.running),
            claimed=engine.claimed_calls,
            ended=dict(self._outcomes),
            delivered=engine.delivered_events,
            pending=engine.pending_events,
            heartbeat_age=engine.heartbeat_age,
            draining=engine.is_draining,
            refused=self._named_legs.refused if self._named_legs is not None else {},
            trunks=self._named_legs.trunk_states if self._named_legs is not None else {},
        )


async def work(end: socket.socket) -> int:
    """Run a worker at an end of a supervisor's channel; return its exit code."""
    channel = await Channel.open(end)
    message = await channel.receive()
    if message is None:
        return 0
    settings = WorkerSettings.read(message)
    log_format = f"%(asctime)s %(levelname)s {settings.name} %(name)s: %(message)s"
    logging.basicConfig(level=settings.log_level, format=log_format)
    dialogs.tell(channel.send)
    try:
        worker = Worker(settings, channel)
    except (PlugError, ValueError) as error:
        return await _give_up(channel, str(error))
    try:
        await worker.run()
    except (ProtocolError, PlugError) as error:
        return await _give_up(channel, str(error))
    except LegError as error:
        # It may be there, or its port free, at the next start.
        _log.error("%s", error)
        return 1
    except (UnauthenticatedError, ForbiddenError) as error:
        return await _give_up(channel, f"The service refuses the engine token ({error}).")
    await channel.close()
    return 0


async def _give_up(channel: Channel, message: str) -> int:
    """Tell the supervisor what another start would not change."""
    channel.send({"kind": "fatal", "message": message})
    await channel.close()
    return EXIT_CONFIG


def main() -> int:
    """Run the worker of the channel whose file descriptor is the only argument."""
    # Both come to the whole process group, or to the container: the supervisor decides what they mean.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    return asyncio.run(work(socket.socket(fileno=int(sys.argv[1]))))


if __name__ == "__main__":
    sys.exit(main())
