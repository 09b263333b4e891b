"""The moments of a conversation that several of its parts act upon."""

import asyncio
import time
from collections.abc import Awaitable, Callable

Said = Callable[[str], Awaitable[None]]


class Signals:
    """What the customer does; `now` is a clock that only moves on, seconds."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self.spoke = asyncio.Event()
        """Set once the customer has said anything at all."""
        self.speaking = False
        self.active_at = now()
        """When the customer last did anything."""
        self.turn_done_at: float | None = None
        """When the customer's last turn ended; None while it goes on, and once it was answered."""
        self.was_owed = False
        """Whether the customer spoke before they were answered; whoever makes up for it sets it back."""
        self.on_said: list[Said] = []
        """Called with each line of the customer."""
        self.on_understood: list[Callable[[str], None]] = []
        """Called with each text that was understood, also of a part of a line."""
        self.on_unheard: list[Callable[[float], None]] = []
        """Called with the seconds of speech of a turn in which nothing was understood."""
        self.on_sound: list[Callable[[bytes], None]] = []
        """Called with the customer's sound, 16-bit mono at the rate of the pipeline."""
        self.on_language: list[Said] = []
        """Called with the code of the language in which something was understood."""
        self._now = now

    def customer_speaks(self) -> None:
        """The customer begins to speak."""
        self.speaking = True
        self.was_owed = self.was_owed or self.turn_done_at is not None
        self.turn_done_at = None
        self._act()

    def customer_paused(self) -> None:
        """The customer stops speaking, perhaps not for long."""
        self.speaking = False
        self._act()

    def customer_done(self) -> None:
        """The customer's turn is over, and has an answer coming."""
        self.speaking = False
        self.turn_done_at = self._now()
        self._act()

    def customer_unheard(self, spoke_s: float) -> None:
        """The customer's turn is over, and nothing of it was understood."""
        self.speaking = False
        self._act()
        for listener in self.on_unheard:
            listener(spoke_s)

    def customer_acts(self) -> None:
        """The customer pressed a key, or came back from a hold."""
        self._act()

    def understood(self, text: str) -> None:
        """Something was understood."""
        self._act()
        for listener in self.on_understood:
            listener(text)

    async def customer_said(self, text: str) -> None:
        """A line of the customer is complete."""
        self.spoke.set()
        self._act()
        for listener in self.on_said:
            await listener(text)

    def _act(self) -> None:
        self.active_at = self._now()
