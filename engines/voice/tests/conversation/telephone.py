"""A customer on a telephone: speaks, listens, interrupts, and times on the wire what the assistant does."""

import asyncio
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from legs.peer import Dialog, Peer
from legs.sound import Samples, audible
from switchboard_engine.legs.resample import Resampler

from .voices import spoken

WAIT_S = 15.0
SILENT_S = 0.3
INTERRUPTED_S = 0.5
"""Silence after which an interrupted assistant has stopped: longer than between its words."""


@lru_cache(maxsize=64)
def telephone(text: str) -> Samples:
    """Return speech as a telephone carries it, 8 kHz, without the silence after it: its end is what is timed."""
    return audible(np.frombuffer(Resampler(16_000, 8_000).process(spoken(text).tobytes()), dtype=np.int16))


@dataclass
class Heard:
    """What one customer heard: the times to the greeting, to each answer and to each silence, ms, and the sounds."""

    greeting_ms: float = 0.0
    answers_ms: list[float] = field(default_factory=list)
    silences_ms: list[float] = field(default_factory=list)
    sounds: list[Samples] = field(default_factory=list)
    gap_ms: float = 0.0
    """The longest time between two packets."""


class Customer:
    """One call, from its ringing on."""

    def __init__(self, dialog: Dialog) -> None:
        """Take a call that rings."""
        self.dialog, self.heard = dialog, Heard()
        self._since = 0.0

    @classmethod
    async def picks_up(cls, peer: Peer, ring_s: float) -> "Customer":
        """Answer the next call to a telephone, and wait for the greeting."""
        customer = cls(await peer.taken())
        await customer.dialog.answer(ring_s=ring_s)
        customer._since = time.time()
        customer.heard.greeting_ms = 1000 * (await customer.sound_after(customer._since) - customer._since)
        return customer

    async def asks(self, text: str) -> None:
        """Let the assistant finish, say something, and wait for the answer to begin."""
        await self.listens()
        await self.repeats(text)

    async def repeats(self, text: str) -> None:
        """Say something while the assistant is silent, and wait for the answer to begin."""
        await self._say(text)
        self._since = self.dialog.media.spoke_until
        self.heard.answers_ms.append(1000 * (await self.sound_after(self._since) - self._since))

    async def interrupts(self, text: str, *, after_s: float) -> None:
        """Say something while the assistant speaks, after so long, and wait for its silence; then for the answer."""
        await asyncio.sleep(after_s)
        assert self.is_spoken_to, "it has stopped by itself"
        began = time.time()
        speaking = asyncio.create_task(self._say(text))
        silent = await self._silence(INTERRUPTED_S)
        self.heard.silences_ms.append(1000 * (silent - began))
        await speaking
        self._since = self.dialog.media.spoke_until
        await self.sound_after(self._since)

    @property
    def is_spoken_to(self) -> bool:
        """Whether the assistant speaks."""
        return time.time() - (self.dialog.media.last_sound() or 0) < SILENT_S

    async def listens(self) -> None:
        """Wait until the assistant has said what it says, and keep its sound."""
        await self._silence(SILENT_S)
        heard = audible(self.dialog.media.samples(self._since))
        self.heard.sounds.append(np.frombuffer(Resampler(8_000, 16_000).process(heard.tobytes()), dtype=np.int16))
        self.heard.gap_ms = max(self.heard.gap_ms, self.dialog.media.longest_gap_ms())
        # All but the last packet, from which the next gap counts: an hour of them would be looked through each time.
        del self.dialog.media.received[:-1]

    async def hangs_up(self) -> None:
        """Let the assistant finish, and hang up."""
        await self.listens()
        self.dialog.bye()
        # Its port may be another call's soon, which packets of this one would deafen.
        self.dialog.media.close()

    async def sound_after(self, since: float) -> float:
        """Wait for the first sound after a moment; returns when it came."""
        async with asyncio.timeout(WAIT_S):
            while (first := self.dialog.media.first_sound(since)) is None:  # noqa: ASYNC110 - as packets come
                await asyncio.sleep(0.02)
        return first

    async def _say(self, text: str) -> None:
        self.dialog.media.play(telephone(text))
        await self.dialog.media.played()

    async def _silence(self, seconds: float) -> float:
        """Wait for so much silence of the assistant; returns when it began."""
        async with asyncio.timeout(WAIT_S):
            while (last := self.dialog.media.last_sound()) is None or time.time() - last < seconds:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return last


def share(figures: Sequence[float], part: float) -> float:
    """Return the figure that so large a part of them does not exceed: its nearest rank."""
    return sorted(figures)[math.ceil(part * len(figures)) - 1]
