"""What follows a turn of the customer in which nothing was understood: noise, or words that were not recognised."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from .talk import Talk, background

SPOKE_S = 0.8
"""Speech from which on something was said, rather than a cough."""
ANSWERS_MAX = 2
"""Most answers to such turns in a row; then it is noise that goes on."""

_CUT_OFF = (
    "A noise cut you off, or something that was not recognised: the customer heard only what of your words is in the "
    "conversation. Say the rest in one short sentence, with any question that they may have missed."
)


class Unheard:
    """Answers such a turn at most once: with the rest of what it cut off, else by asking again."""

    def __init__(self, talk: Talk) -> None:
        """Follow a conversation."""
        self._talk = talk
        self._in_a_row = 0
        self._tasks: set[asyncio.Task[None]] = set()
        talk.signals.on_unheard.append(self._unheard)
        talk.signals.on_said.append(self._said)

    def close(self) -> None:
        """Let go of what still waits."""
        for task in self._tasks:
            task.cancel()

    async def _said(self, _: str) -> None:
        self._in_a_row = 0
        self._cut_off()

    def _cut_off(self) -> bool:
        """Return whether something was cut off since the last turn, and forget it."""
        speech, signals = self._talk.speech, self._talk.signals
        was_cut = speech.was_cut or signals.was_owed
        speech.was_cut = signals.was_owed = False
        return was_cut

    def _unheard(self, spoke_s: float) -> None:
        talk = self._talk
        was_cut = self._cut_off()
        # The result of a function that runs is answered anyway.
        if talk.is_ending or talk.speaker.model_is_silent or talk.working or not talk.speech.quiet.is_set():
            return
        if (not was_cut and spoke_s < SPOKE_S) or self._in_a_row >= ANSWERS_MAX:
            return
        self._in_a_row += 1
        if was_cut:
            talk.signals.customer_done()
            self._spawn(talk.context(_CUT_OFF, run=True))
        else:
            self._spawn(talk.say(talk.phrases.unheard))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = background(work, f"call {self._talk.call.id}: an answer to what was not understood")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
