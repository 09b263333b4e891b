"""Pauses between repeated tries, growing and jittered so that many engines do not return at the same moment."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from random import Random
from typing import TypeVar

from .errors import TemporaryError

T = TypeVar("T")

_RETRY_AFTER_MAX = 15.0
"""Longest pause that the service may ask for, seconds: half a lease, so that waiting alone loses no call."""


class Backoff:
    """Pauses that double from `first` to `most` seconds, each between half and the whole of its step."""

    def __init__(self, first: float = 0.2, most: float = 5.0, random: Random | None = None) -> None:
        self.first = first
        self.most = most
        self._random = random or Random()  # noqa: S311 - jitter is no secret
        self._failures = 0

    def reset(self) -> None:
        """Start again from the first pause, after a success."""
        self._failures = 0

    def pause(self, error: Exception | None = None) -> float:
        """Return the next pause, seconds; at least what the service asked for in its `Retry-After`."""
        step = min(self.most, self.first * 2.0 ** min(self._failures, 32))
        self._failures += 1
        jittered = step * self._random.uniform(0.5, 1.0)
        asked = error.retry_after if isinstance(error, TemporaryError) else 0.0
        # What the service asks for is jittered upwards only.
        return max(jittered, min(asked, _RETRY_AFTER_MAX) * self._random.uniform(1.0, 1.2))


async def persist(attempt: Callable[[], Awaitable[T]], backoff: Backoff, seconds: float) -> T:
    """Repeat an attempt while it fails with a `TemporaryError`, for at most `seconds`; raises the last failure."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return await attempt()
        except TemporaryError as error:
            pause = backoff.pause(error)
            if time.monotonic() + pause >= deadline:
                raise
            await asyncio.sleep(pause)
