"""Keeps trunks registered (RFC 3261 section 10), and tells when a registration is lost and found."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping

from baresip import Account, Event, RegistrationError, StackEvent, UserAgent
from baresip.errors import split_status

from ..leg import LegError, OnTrunk, Telephony, TrunkState, TrunkStatus
from . import account, diagnosis

TRANSACTION_S = 32.0  # a transaction without an answer ends (RFC 3261 section 17.1.2.2)
TIMEOUT_S = 35.0
RETRY_S = 2.0
RETRY_MAX_S = 60.0
# Registrars lock out who tries wrong passwords often.
WRONG_CREDENTIALS_RETRY_S = 300.0
WRONG_CREDENTIALS = (401, 403, 407)
_REFUSALS = (*range(400, 500), *range(600, 700))


class Registrations:
    """One task for each registered trunk."""

    def __init__(
        self,
        agent_of: Callable[[Account], Awaitable[UserAgent]],
        stop: Callable[[int], Awaitable[None]],
        on_trunk: OnTrunk,
        nat: tuple[str, ...] = (),
        *,
        most: int,
    ) -> None:
        """Register nothing yet, `most` trunks at a time; `stop` ends the registration of an agent, by its handle."""
        self._agent_of = agent_of
        self._stop = stop
        self._on_trunk = on_trunk
        self._nat = nat
        self._most = most
        self._trunks: dict[str, Telephony] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def replace(self, trunks: Mapping[str, Telephony], interval_s: int) -> None:
        """Register exactly these trunks, by their ids; one that is unchanged goes on undisturbed.

        Those beyond the most are told to be lost.
        """
        gone = [trunk_id for trunk_id, trunk in self._trunks.items() if trunks.get(trunk_id) != trunk]
        for trunk_id in gone:
            del self._trunks[trunk_id]
            task = self._tasks.pop(trunk_id)
            task.cancel()
            await asyncio.wait([task])
        for trunk_id, trunk in trunks.items():
            if trunk_id in self._trunks:
                continue
            if len(self._trunks) >= self._most:
                detail = f"A worker of the engine registers {self._most} trunks at most: its operator must run more."
                self._on_trunk(TrunkStatus(trunk_id, TrunkState.LOST, detail))
            else:
                self._trunks[trunk_id] = trunk
                self._tasks[trunk_id] = asyncio.create_task(self._keep(trunk, interval_s))

    async def _keep(self, trunk: Telephony, interval_s: int) -> None:
        try:
            registering = account.registering(trunk, interval_s, self._nat)
        except LegError:  # it may quote any member
            self._on_trunk(TrunkStatus(trunk.trunk_id, TrunkState.LOST, diagnosis.UNSENDABLE))
            return
        try:
            agent = await self._agent_of(registering)
        except LegError as error:
            self._on_trunk(TrunkStatus(trunk.trunk_id, TrunkState.LOST, f"The engine cannot register: {error}."))
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
            # The binding's method does nothing for an agent that never succeeded, and the stack would go on trying.
            with contextlib.suppress(LegError):
                await self._stop(agent.handle)

    async def _register_forever(self, trunk: Telephony, agent: UserAgent, failures: asyncio.Queue[str]) -> None:
        retry_s = RETRY_S
        while True:
            while not failures.empty():
                failures.get_nowait()
            try:
                await agent.register(timeout=TIMEOUT_S)
                retry_s = RETRY_S
                self._on_trunk(TrunkStatus(trunk.trunk_id, TrunkState.REGISTERED))
                status, reason = split_status(await failures.get())
            except RegistrationError as error:
                status, reason = error.status, error.reason
            failure = _failure(trunk, status, reason)
            self._on_trunk(failure)
            if failure.state is TrunkState.WRONG_CREDENTIALS:
                await asyncio.sleep(WRONG_CREDENTIALS_RETRY_S)
                continue
            await asyncio.sleep(retry_s)
            retry_s = min(retry_s * 2, RETRY_MAX_S)


def _failure(trunk: Telephony, status: int | None, reason: str) -> TrunkStatus:
    """Return what a failure means: by the registrar's answer, or without a status by what the stack says."""
    if status is None:
        return TrunkStatus(trunk.trunk_id, TrunkState.LOST, diagnosis.of_stack(reason, TRANSACTION_S))
    state = TrunkState.REFUSED if status in _REFUSALS else TrunkState.LOST
    if status in WRONG_CREDENTIALS:
        state = TrunkState.WRONG_CREDENTIALS
    return TrunkStatus(trunk.trunk_id, state, diagnosis.of_answer("registrar", status, reason, trunk))
