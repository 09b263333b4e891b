"""The time limits of an engine, seconds. The defaults suit a service whose lease is 30 s."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Timing:
    """Time limits, all in seconds."""

    answer: float = 15.0
    """Longest wait for an answer, beyond the time that the service may take by the contract."""
    claim_wait: int = 30
    """How long a claim may stay parked; the service takes at most 30."""
    heartbeat: float = 10.0
    """Time between two heartbeats."""
    backoff_first: float = 0.2
    """Pause after the first failure."""
    backoff_most: float = 5.0
    """Longest pause between two tries."""
    patience: float | None = None
    """How long a call goes on while the service cannot be reached; None: as long as its lease."""
    partials_apart: float = 0.2
    """Least time between two partial transcripts of a call: the service takes five a second."""
