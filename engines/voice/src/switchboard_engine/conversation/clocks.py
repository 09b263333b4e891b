"""The time limits of a call: its length, silence at its start, silence later, and answers that do not come."""

import asyncio
import time
from collections.abc import Callable

from .talk import Talk

TICK_S = 0.1
PATIENCE_S = 5.0
"""How long the model may owe an answer before the customer is asked to wait."""
ANSWER_S = 20.0
"""How long before the customer is asked again; the second time the call ends. Others stand in for a model meanwhile."""


class Clocks:
    """Watches a conversation from its answer on; `now` is a clock that only moves on, seconds."""

    def __init__(self, talk: Talk, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with the answer."""
        self._talk, self._now = talk, now
        self._limits = talk.settings.limits
        self._began = now()
        self._bot_active = now()
        self._opened = now()
        """When the assistant last spoke or worked before anybody was re-engaged."""
        self._reengaged = False
        self._spoken = talk.speech.spoken
        self._missed = 0
        """Answers in a row that did not come."""
        self._own_words = False
        """Whether the next words are the engine's own, and no answer."""
        self._asked_to_wait = False

    async def run(self) -> None:
        """Watch until cancelled."""
        while True:
            await asyncio.sleep(TICK_S)
            await self.tick()

    async def tick(self) -> None:
        """Look at all limits once."""
        talk, now = self._talk, self._now()
        if now - self._began >= self._limits.duration_s:
            talk.end("assistant", "the longest duration of a call was reached")
        if talk.is_ending:
            return
        if not talk.speech.quiet.is_set() or talk.working or talk.on_hold:
            self._bot_active = now
            if not self._reengaged:
                self._opened = now
        if talk.signals.speaking:
            self._reengaged = False
        if talk.speech.spoken != self._spoken:
            self._spoken = talk.speech.spoken
            self._answered()
        if self._is_owed:
            await self._check_answer(now - (talk.signals.turn_done_at or now))
        else:
            await self._check_silence(now)

    async def _check_answer(self, owed_s: float) -> None:
        if owed_s >= ANSWER_S:
            await self.answer_failed()
        elif owed_s >= PATIENCE_S and not self._asked_to_wait:
            self._asked_to_wait = self._own_words = True
            await self._talk.say(self._talk.phrases.waiting[0], to_context=False)

    async def answer_failed(self) -> None:
        """The answer that is owed will not come: ask the customer again once, then give up."""
        talk = self._talk
        if not self._is_owed or talk.is_ending:
            return
        talk.signals.turn_done_at = None
        self._asked_to_wait = False
        self._missed += 1
        await talk.interrupt()
        if self._missed > 1:
            talk.give_up("no answer came from the language model")
        else:
            self._own_words = True
            await talk.say(talk.phrases.repeat)

    @property
    def _is_owed(self) -> bool:
        """Whether the customer is done, and nothing was said to them since."""
        talk = self._talk
        quiet = talk.speech.quiet.is_set() and not talk.signals.speaking and not talk.working
        return quiet and talk.signals.turn_done_at is not None

    def _answered(self) -> None:
        """The assistant began to speak; words of the engine's own are no answer."""
        if not self._own_words:
            self._talk.signals.turn_done_at = None
            self._missed = 0
            self._asked_to_wait = False
        self._own_words = False

    async def _check_silence(self, now: float) -> None:
        talk, limits = self._talk, self._limits
        if talk.signals.speaking or not talk.speech.quiet.is_set() or talk.working or talk.on_hold:
            return
        unopened_s = 0.0 if talk.signals.spoke.is_set() else now - max(self._opened, talk.signals.active_at)
        if limits.initial_silence_s is not None and unopened_s >= limits.initial_silence_s:
            talk.end("assistant", "the customer said nothing at the start of the call")
            return
        silent_s = now - max(self._bot_active, talk.signals.active_at)
        if silent_s >= (limits.interval_s if self._reengaged else limits.silence_s):
            self._reengaged = True
            self._bot_active = now
            await self._reengage()

    async def _reengage(self) -> None:
        prompt = self._talk.settings.reengagement
        if prompt:
            await self._talk.context(f"{_SILENT} {prompt}", run=True)
        else:
            await self._talk.say(self._talk.phrases.reengage)


_SILENT = "The customer has been silent for a while. Say one short sentence to them."
