"""The time until which a call is this engine's, on this machine's own clock.

The service's time of a lease is not compared with a clock here, since the two may differ: a lease runs from the
moment a request was sent that the service then answered.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Lease:
    """A lease of `seconds`, renewed by answers and held by requests that run."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._until = time.monotonic() + seconds
        self._holders = 0

    @property
    def remaining(self) -> float:
        """Seconds until it runs out; never less than a whole lease while a request holds it."""
        return self.seconds if self._holders else self._until - time.monotonic()

    def renew(self, sent_at: float) -> None:
        """Renew it by a request that was sent at this monotonic time and answered."""
        self._until = max(self._until, sent_at + self.seconds)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold it while the service carries out a tool or a search."""
        self._holders += 1
        sent_at = time.monotonic()
        try:
            yield
        finally:
            self._holders -= 1
            self.renew(sent_at)
