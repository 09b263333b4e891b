"""The transcript of a call: its lines and their turns, as they were heard.

A turn begins with a line of the customer and holds the assistant's answer to it; a greeting is a turn of its own.
"""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from ..client.events import Event, Partial, Transcript

Report = Callable[[Event], Awaitable[None]]

TEXT_CHARS_MAX = 16_000
"""Longest line; a longer one is cut, with a mark."""
_CUT = " […]"


def moment(at: float) -> datetime:
    """Return the time of the system clock as the service takes it."""
    return datetime.fromtimestamp(at, UTC)


@dataclass
class BotLine:
    """A line that the assistant is saying."""

    words: list[str] = field(default_factory=list)
    started_at: float | None = None
    ended_at: float = 0.0

    def text(self) -> str:
        """Return what was heard of it."""
        return " ".join(self.words)


class TranscriptLines:
    """Reports the lines of both sides, in the order in which they ended."""

    def __init__(self, report: Report, *, language: str, now: Callable[[], float] = time.time) -> None:
        """Report to the call; `language` is that of the assistant until the customer changes it."""
        self.turn = 1
        self.language = language
        self.lines = 0
        """Lines so far."""
        self.customer_lines = 0
        self._report = report
        self._now = now
        self._bot = BotLine()
        self._said_in_turn = False
        self._customer_started: float | None = None
        self._customer_stopped: float | None = None
        self._customer_language: str | None = None

    @property
    def bot_said(self) -> bool:
        """Whether the assistant has said anything in this turn."""
        return self._said_in_turn

    def customer_began(self, at: float) -> None:
        """Note when the customer began to speak; the first of several beginnings of a turn counts."""
        if self._customer_started is None:
            self._customer_started = at

    def customer_paused(self, at: float) -> None:
        """Note when the customer last stopped speaking."""
        self._customer_stopped = at

    def customer_language(self, language: str | None) -> None:
        """Note the language in which something was understood."""
        self._customer_language = language or self._customer_language

    async def partly(self, text: str) -> None:
        """Report what is understood of the customer's turn so far."""
        await self._report(Partial(turn=self._next_turn(), text=_clipped(text)))

    async def customer(self, text: str) -> None:
        """Report a line of the customer, which begins a turn."""
        text = text.strip()
        if not text:
            return
        self.turn = self._next_turn()
        self._said_in_turn = False
        started, stopped = self._customer_started, self._customer_stopped
        now = self._now()
        await self._report(
            Transcript(
                "human",
                _clipped(text),
                turn=self.turn,
                started_at=moment(min(started if started is not None else now, now)),
                ended_at=moment(stopped if stopped is not None and stopped >= (started or 0.0) else now),
                language=self._customer_language or self.language,
            )
        )
        self.lines += 1
        self.customer_lines += 1
        self._customer_started = self._customer_stopped = None

    def heard(self, word: str) -> None:
        """Add what the customer just heard of the assistant."""
        self._bot.words.append(word.strip())
        self._said_in_turn = True

    def sound(self, seconds: float) -> None:
        """Note that so much of the assistant was played up to now."""
        now = self._now()
        if self._bot.started_at is None:
            self._bot.started_at = now - seconds
        self._bot.ended_at = now

    async def bot_done(self, *, interrupted: bool = False) -> None:
        """Report the assistant's line as far as it was heard, if anything was."""
        line, self._bot = self._bot, BotLine()
        text = line.text().strip()
        if not text:
            return
        now = self._now()
        await self._report(
            Transcript(
                "bot",
                _clipped(text),
                turn=self.turn,
                started_at=moment(line.started_at if line.started_at is not None else now),
                ended_at=moment(line.ended_at or now),
                interrupted=interrupted or None,
                language=self.language,
            )
        )
        self.lines += 1

    def _next_turn(self) -> int:
        """Return the number of the turn that the customer's next line belongs to."""
        return self.turn + 1 if self._said_in_turn or self.customer_lines else self.turn


def _clipped(text: str) -> str:
    return text if len(text) <= TEXT_CHARS_MAX else text[: TEXT_CHARS_MAX - len(_CUT)] + _CUT
