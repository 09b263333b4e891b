"""What a fail-over chooses from, and how long it waits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pipecat.processors.frame_processor import FrameProcessor

ATTEMPTS = 3
"""Failures in a row after which a service is given up."""
REASON_CHARS_MAX = 200
_PAUSE_S = 0.25
_PAUSE_MAX_S = 2.0


@dataclass(slots=True)
class Candidate:
    """A service that may be used; it is built anew for each attempt."""

    name: str
    build: Callable[[], FrameProcessor]
    failures: int = 0
    """Failures in a row."""
    given_up: bool = False

    def failed(self, *, permanently: bool) -> None:
        """Note a failure."""
        self.failures += 1
        self.given_up = self.given_up or permanently or self.failures >= ATTEMPTS

    @property
    def pause_s(self) -> float:
        """How long to wait before the next attempt."""
        return min(_PAUSE_S * 2 ** (self.failures - 1), _PAUSE_MAX_S) if self.failures else 0.0


def following(candidates: Sequence[Candidate], last: Candidate) -> Candidate | None:
    """Return the next one that is not given up, in the order of the list, round and round; the last one comes last."""
    at = candidates.index(last) + 1
    return next((other for other in [*candidates[at:], *candidates[:at]] if not other.given_up), None)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a service may take, seconds."""

    answer_s: float
    """Until it gives something, or something more, of what it owes."""
    connect_s: float = 5.0
    """Until it is connected."""
    end_s: float = 10.0
    """Until it has ended when the call does, after what it owes."""


@dataclass(slots=True)
class Reasons:
    """Why the services failed, for the last sentence."""

    _texts: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, text: str) -> str:
        """Note the failure of a service; returns it in one line of at most `REASON_CHARS_MAX`."""
        self._texts[name] = " ".join(text.split())[:REASON_CHARS_MAX]
        return self._texts[name]

    def __str__(self) -> str:
        """Return each service with its last failure."""
        return "; ".join(f"{name}: {text}" for name, text in self._texts.items())
