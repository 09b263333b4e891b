"""One call of Twilio's."""

from typing_extensions import override

from ..leg import LegError, Line, Outcome, TransferMode, Transferred
from ..stream import StreamLine
from .api import Rest, forward

# `CallStatus` of a call that never was up, by Twilio's names.
_OUTCOMES = {
    "busy": Outcome.BUSY,
    "no-answer": Outcome.NO_ANSWER,
    "failed": Outcome.UNREACHABLE,
    "canceled": Outcome.CANCELLED,
}


class TwilioLine(StreamLine):
    """A `Line` of Twilio's, by its SID."""

    def __init__(self, sid: str, rest: Rest) -> None:
        """Take a call over."""
        super().__init__(sid)
        self.rest = rest

    def told(self, status: str) -> None:
        """Take a status callback's `CallStatus`."""
        if status == "ringing":
            self.ringing()
        elif status in _OUTCOMES:
            self.end("customer" if status != "failed" else "engine", _OUTCOMES[status], status)
        elif status == "completed":
            self.end("customer", Outcome.COMPLETED, status)

    @override
    async def transfer(self, to: str, mode: TransferMode = "blind", *, consultation: Line | None = None) -> Transferred:
        """Let Twilio dial another number into the call (`<Dial>`), which ends the stream."""
        return await self._transfer_blind(to, mode, consultation, lambda: self._forward(to))

    async def _forward(self, to: str) -> None:
        self._ending = Outcome.TRANSFERRED  # the stream may end before the answer is here
        try:
            await self.rest.update(self.external_id, {"Twiml": forward(to)})
        except LegError:
            self._ending = None
            raise

    @override
    async def _hang_up(self) -> None:
        await self.rest.update(self.external_id, {"Status": "completed" if self._answered else "canceled"})
