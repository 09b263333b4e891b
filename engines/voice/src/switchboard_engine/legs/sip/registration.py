"""Keeps trunks registered (RFC 3261 section 10), and tells when a registration is lost and found."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

from baresip import Account, BaresipError, Event, RegistrationError, Runtime, StackEvent, UserAgent
from baresip._native import lib
from baresip.errors import split_status

from ..leg import LegError, OnTrunk, Telephony, TrunkState, TrunkStatus
from . import account

TIMEOUT_S = 35.0  # a transaction without an answer ends after 32 s (RFC 3261 section 17.1.2.2)
RETRY_S = 2.0
RETRY_MAX_S = 60.0
# Registrars lock out who tries wrong passwords often.
WRONG_CREDENTIALS_RETRY_S = 300.0
WRONG_CREDENTIALS = (401, 403, 407)


class Registrations:
    """One task for each registered trunk."""

    def __init__(
        self,
        runtime: Runtime,
        agent_of: Callable[[Account], Awaitable[UserAgent]],
        on_trunk: OnTrunk,
        nat: tuple[str, ...] = (),
    ) -> None:
        """Register nothing yet."""
        self._runtime = runtime
        self._agent_of = agent_of
        self._on_trunk = on_trunk
        self._nat = nat
        self._trunks: dict[str, Telephony] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def replace(self, trunks: Mapping[str, Telephony], interval_s: int) -> None:
        """Register exactly these trunks, by their ids; one that is unchanged goes on undisturbed."""
        gone = [trunk_id for trunk_id, trunk in self._trunks.items() if trunks.get(trunk_id) != trunk]
        for trunk_id in gone:
            del self._trunks[trunk_id]
            task = self._tasks.pop(trunk_id)
            task.cancel()
            await asyncio.wait([task])
        for trunk_id, trunk in trunks.items():
            if trunk_id not in self._trunks:
                self._trunks[trunk_id] = trunk
                self._tasks[trunk_id] = asyncio.create_task(self._keep(trunk, interval_s))

    async def _keep(self, trunk: Telephony, interval_s: int) -> None:
        try:
            agent = await self._agent_of(account.registering(trunk, interval_s, self._nat))
        except LegError as error:
            self._on_trunk(TrunkStatus(trunk.trunk_id, TrunkState.LOST, str(error)))
            return
        failures: asyncio.Queue[str] = asyncio.Queue()

        def listen(event: StackEvent) -> None:
            if event.event is Event.REGISTER_FAIL:
                failures.put_nowait(event.text or "")

        agent.on(listen)
        try:
            await self._register_forever(trunk, agent, failures)
        finally:
            agent.off(listen)
            # By the command itself: the binding's method does nothing for an agent that never succeeded, and the stack
            # would go on trying.
            with contextlib.suppress(BaresipError):
                await self._runtime.cmd(lib.BP_CMD_UA_UNREGISTER, args=str(agent.handle))

    async def _register_forever(self, trunk: Telephony, agent: UserAgent, failures: asyncio.Queue[str]) -> None:
        retry_s = RETRY_S
        while True:
            while not failures.empty():
                failures.get_nowait()
            try:
                await agent.register(timeout=TIMEOUT_S)
                retry_s = RETRY_S
                self._on_trunk(TrunkStatus(trunk.trunk_id, TrunkState.REGISTERED))
                detail = await failures.get()
            except RegistrationError as error:
                detail = f"{error.status} {error.reason}" if error.status else str(error)
            if split_status(detail)[0] in WRONG_CREDENTIALS:
                self._on_trunk(TrunkStatus(trunk.trunk_id, TrunkState.WRONG_CREDENTIALS, detail))
                await asyncio.sleep(WRONG_CREDENTIALS_RETRY_S)
                continue
            self._on_trunk(TrunkStatus(trunk.trunk_id, TrunkState.LOST, detail))
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, RETRY_MAX_S)
