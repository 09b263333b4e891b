"""Which services failed a moment ago, over all calls of a worker, so that the next call does not find out again."""

import time
from collections.abc import Callable, Sequence

from .candidate import Candidate

REST_S = 30.0
"""How long new calls try the substitutes first."""


class Outages:
    """Services that rest. Failures that are an assistant's own, such as an unknown voice, are not noted here."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Begin with none; `clock` gives seconds."""
        self._clock = clock
        self._until: dict[str, float] = {}

    def failed(self, name: str) -> None:
        """Let a service rest."""
        self._until[name] = self._clock() + REST_S

    def succeeded(self, name: str) -> None:
        """Let it rest no more."""
        self._until.pop(name, None)

    def ordered(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the candidates with those that rest behind the others."""
        now = self._clock()
        self._until = {name: until for name, until in self._until.items() if until > now}
        return sorted(candidates, key=lambda candidate: candidate.name in self._until)
