"""The legs of this process and the calls that they brought: where a conversation finds its line."""

from .client import Call
from .legs.leg import Arrival, Leg


class Lines:
    """One leg of a kind (`sip`, `twilio`, `web`), and the arrivals that wait for their conversations."""

    def __init__(self) -> None:
        self._legs: dict[str, Leg] = {}
        self._arrivals: dict[int, Arrival] = {}

    def open(self, kind: str, leg: Leg) -> None:
        """A leg takes and places calls."""
        self._legs[kind] = leg

    def close(self, kind: str) -> None:
        """A leg is gone."""
        self._legs.pop(kind, None)

    def leg(self, kind: str) -> Leg | None:
        """Return the leg of a kind."""
        return self._legs.get(kind)

    def bring(self, call: Call, arrival: Arrival) -> None:
        """A call that came in has its line here."""
        self._arrivals[call.id] = arrival

    def take(self, call: Call) -> Arrival | None:
        """Return, once, the arrival of a call; None of one that is to be dialed."""
        return self._arrivals.pop(call.id, None)


lines = Lines()
"""Those of this process."""
