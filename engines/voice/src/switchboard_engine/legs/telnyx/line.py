"""One call of Telnyx's."""

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from .. import tones
from ..leg import Ended, LegError, Line, Outcome, Party, TransferMode, Transferred
from ..stream import KEY_MS, StreamLine, new_token
from .api import CallOverError, Commands

TRANSFER_TIMEOUT_S = 60.0
# `hangup_cause` of a call that was never answered.
_OUTCOMES = {
    "user_busy": Outcome.BUSY,
    "timeout": Outcome.NO_ANSWER,
    "no_answer": Outcome.NO_ANSWER,
    "call_rejected": Outcome.REJECTED,
    "originator_cancel": Outcome.CANCELLED,
    "not_found": Outcome.UNREACHABLE,
    "unallocated_number": Outcome.UNREACHABLE,
}


class TelnyxLine(StreamLine):
    """A `Line` of Telnyx's, by the id of its leg."""

    def __init__(self, leg_id: str, control_id: str, commands: Commands) -> None:
        """Take a call over."""
        super().__init__(leg_id)
        self.control_id = control_id
        self.commands = commands
        self.transfer_state = ""
        """What the webhooks of the leg that this call is transferred to carry; empty where there is none."""
        self._transferred: asyncio.Future[Transferred] | None = None

    def hung_up(self, payload: Mapping[str, Any], *, incoming: bool) -> None:
        """Take a `call.hangup`."""
        cause = str(payload.get("hangup_cause", ""))
        if self._answered:
            self.end("customer", Outcome.COMPLETED, cause)
        elif incoming:
            self.end("customer", Outcome.CANCELLED, cause)
        else:
            status = str(payload.get("sip_hangup_cause", ""))
            by: Party = "customer" if cause in _OUTCOMES else "engine"
            outcome = _OUTCOMES.get(cause, Outcome.UNREACHABLE)
            self.end(by, outcome, cause, int(status) if status.isascii() and status.isdecimal() else None)

    def transfer_told(self, event: str, payload: Mapping[str, Any]) -> None:
        """Take a webhook of the leg that this call is transferred to."""
        if self._transferred is None or self._transferred.done():
            return
        to = str(payload.get("to", ""))
        if event in ("call.answered", "call.bridged"):
            self._transferred.set_result(Transferred(to, "accepted"))
        elif event == "call.hangup":
            self._transferred.set_result(Transferred(to, "failed", str(payload.get("hangup_cause", ""))))

    @override
    async def send_dtmf(self, digits: str) -> None:
        """Press keys by Telnyx's command, each for 100 ms."""
        self._require_up()
        tones.keys(digits, 100)  # raises for what is no key
        await self.commands.act(self.control_id, "send_dtmf", digits=digits.upper(), duration_millis=KEY_MS)
        await asyncio.sleep(len(digits) * (tones.KEY_MS + tones.PAUSE_MS) / 1000)

    @override
    async def transfer(self, to: str, mode: TransferMode = "blind", *, consultation: Line | None = None) -> Transferred:
        """Let Telnyx call another number and connect it, or for `warm` connect the consultation's line."""
        if mode == "warm":
            return await self._bridge(consultation)
        if self._transferred is not None:
            raise LegError("a transfer is under way")
        self._transferred = asyncio.get_running_loop().create_future()
        self.transfer_state = base64.b64encode(new_token().encode()).decode()
        try:
            return await self._transfer_blind(to, mode, consultation, lambda: self._hand_over(to))
        finally:
            self._transferred, self.transfer_state = None, ""

    async def _hand_over(self, to: str) -> None:
        assert self._transferred is not None  # noqa: S101
        await self.commands.act(self.control_id, "transfer", to=to, target_leg_client_state=self.transfer_state)
        try:
            told = await asyncio.wait_for(self._transferred, TRANSFER_TIMEOUT_S)
        except TimeoutError as error:
            raise LegError("nobody answered") from error
        if told.status == "failed":
            raise LegError(told.reason)

    async def _bridge(self, consultation: Line | None) -> Transferred:
        self._require_up()
        if not isinstance(consultation, TelnyxLine) or not consultation.is_up:
            raise LegError("a warm transfer needs an answered line of this leg")
        self._ending = consultation._ending = Outcome.TRANSFERRED
        try:
            await self.commands.act(self.control_id, "bridge", call_control_id=consultation.control_id)
        except LegError as error:
            self._ending = consultation._ending = None
            result = Transferred(consultation.external_id, "failed", str(error))
            self._queue.put_nowait(result)
            return result
        result = Transferred(consultation.external_id, "accepted")
        self._queue.put_nowait(result)
        for line in (self, consultation):
            line.end("assistant", Outcome.TRANSFERRED, "")
        return result

    @override
    def _close(self, ended: Ended) -> None:
        super()._close(ended)
        if self._transferred is not None and not self._transferred.done():
            self._transferred.set_result(Transferred("", "failed", "the customer hung up"))

    @override
    async def _hang_up(self) -> None:
        try:
            await self.commands.act(self.control_id, "hangup")
        except CallOverError:
            return
