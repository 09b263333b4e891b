"""How a conversation gets its line: from the leg that brought the call, or by dialing on the leg of its trunk."""

from typing import Protocol

from ..client import Call
from ..legs import LegError, Line, Telephony
from ..legs.leg import Arrival, Leg


class Lines(Protocol):
    """The legs of a worker, as `legs.registry.Legs`."""

    def arrival_of(self, call_id: int) -> Arrival | None:
        """Return the arrival of a call that came in; None of one that is to be dialed."""

    def for_kind(self, kind: str) -> Leg:
        """Return the leg of a kind of trunk; raises `LegError` where there is none."""


class NoLegError(Exception):
    """This process has no leg for the call: another engine may."""


class Dialer:
    """Dials as the trunk of one call does."""

    def __init__(self, call: Call, lines: Lines) -> None:
        """Look among the legs of this process."""
        self._call, self._lines = call, lines

    async def dial(self, ring_s: float) -> Line:
        """Call the customer; raises `NoLegError`, and `LegError` where the number cannot be dialed."""
        telephony = self._call.telephony
        if telephony is None or not telephony.dial:
            raise LegError("the service told no number to dial: the engine token was made without telephony")
        return await self.dial_to(telephony.dial, ring_s)

    async def dial_to(self, to: str, ring_s: float) -> Line:
        """Call another number on the same trunk; raises as `dial`."""
        telephony = self._call.telephony
        if telephony is None:
            raise LegError("the service told no trunk for this call")
        try:
            leg = self._lines.for_kind(telephony.kind or "sip")
        except LegError as error:
            raise NoLegError(str(error)) from error
        try:
            trunk = Telephony.from_api(telephony.raw)
        except (ValueError, TypeError) as error:
            raise LegError(f"the trunk cannot be used: {error}") from error
        return await leg.dial(trunk, to, ring_timeout_s=ring_s)
