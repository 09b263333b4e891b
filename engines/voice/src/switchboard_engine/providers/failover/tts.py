"""Fail-over of speech: what was not spoken yet is spoken by the next synthesizer."""

from collections.abc import Sequence
from copy import copy

from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    InterruptionFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TextFrame,
    TTSAudioRawFrame,
    TTSSpeakFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    TTSTextFrame,
    TTSUpdateSettingsFrame,
)

from .base import Failover
from .candidate import Candidate, Patience
from .journal import Kept
from .outages import Outages

_SILENCE = "with no audio"
"""End of Pipecat's error about a text of which no sound came."""
_STALL_S = 2.5
"""Silence within speech that is a failure; Pipecat takes 3 s of it for the end."""
_LETTERS_PER_S = 12.0
"""How fast voices speak, where a synthesizer does not tell: 150 English words a minute."""
_WORD_LETTERS_MAX = 30
"""Letters without a space that are a word, and not a language without spaces."""


class TtsFailover(Failover):
    """A synthesizer with its substitutes: the customer hears another voice from the word at which the first broke off.

    A synthesizer that does not tell word by word what it has spoken begins its sentence again.
    """

    what = "The speech"
    updates = TTSUpdateSettingsFrame
    consumed = (TextFrame, TTSSpeakFrame)

    def __init__(self, candidates: Sequence[Candidate], patience: Patience, outages: Outages | None = None) -> None:
        """Build the first of `candidates` that can be built."""
        super().__init__(candidates, patience, outages)
        self._timed = 0  # letters that were said to be spoken, word by word
        self._untimed = 0  # letters of whole sentences, which may have been said before they are spoken
        self._sound_s = 0.0  # since speech last began
        self._open: str | None = None  # context of the speech that has begun and not stopped

    def owes(self, frame: Frame) -> bool:
        """Return whether it is to be spoken, or begins or ends what is."""
        if isinstance(frame, TextFrame | LLMFullResponseStartFrame | LLMFullResponseEndFrame):
            return not frame.skip_tts
        return isinstance(frame, TTSSpeakFrame)

    def given(self, frame: Frame) -> None:
        """Expect speech once a text is complete."""
        if isinstance(frame, InterruptionFrame):
            self._reset()
        elif (
            isinstance(frame, TTSSpeakFrame | LLMFullResponseEndFrame)
            and self.owes(frame)
            and self._rest + _letters(frame) > 0
        ):
            self.expect()

    async def gave(self, frame: Frame) -> bool:
        """Expect more speech until everything is spoken."""
        if isinstance(frame, TTSStartedFrame):
            self._sound_s, self._open = 0.0, frame.context_id
        elif isinstance(frame, TTSAudioRawFrame):
            self._sound_s += frame.num_frames / frame.sample_rate
            self.succeeded()
            self._go_on()
        elif isinstance(frame, TTSTextFrame) and frame.pts:
            self._timed += _letters(frame)
            self._go_on()
        elif isinstance(frame, TTSTextFrame):
            self._untimed += _letters(frame)
        elif isinstance(frame, TTSStoppedFrame):
            self._open = None
            owed = self.journal.owed()
            if owed and isinstance(owed[0], TTSSpeakFrame) and self._sound_s:
                self._settle(owed[:1])
        elif isinstance(frame, LLMFullResponseEndFrame) and self.owes(frame):
            owed = self.journal.owed()
            self._settle(owed[: owed.index(frame) + 1] if frame in owed else [])
        return True

    @property
    def _spoken(self) -> int:
        return self._timed + min(self._untimed, int(self._sound_s * _LETTERS_PER_S))

    @property
    def _rest(self) -> int:
        """Letters that are still to be spoken."""
        return sum(map(_letters, self.journal.owed())) - self._spoken

    def _go_on(self) -> None:
        if self.is_expecting and self._rest > 0:
            self.arm(min(_STALL_S, self.patience.answer_s), self._stalled)
        else:
            self.disarm()

    def _stalled(self) -> None:
        self.fail("stopped in the middle")

    def _settle(self, done: Sequence[Frame]) -> None:
        ids, letters = {frame.id for frame in done}, sum(map(_letters, done))
        self.journal.drop(lambda owed: owed.id in ids)
        self._untimed = max(0, self._untimed - max(0, letters - self._timed))
        self._timed = max(0, self._timed - letters)
        self._sound_s = 0.0
        self._go_on()

    def _reset(self) -> None:
        self._timed = self._untimed = 0
        self._sound_s = 0.0

    def replay(self) -> list[Frame]:
        """Return what is kept without the words that were spoken."""
        rest: list[Kept] = []
        spoken = self._spoken
        for kept in self.journal:
            letters = _letters(kept.frame) if kept.is_owed else 0
            if letters and spoken >= letters:
                spoken -= letters
            elif letters and spoken:
                rest.append(Kept(_without(kept.frame, spoken), is_owed=True))
                spoken = 0
            else:
                rest.append(kept)
        self._reset()
        self.journal.rewrite(rest)
        return super().replay()

    async def left(self, *, for_good: bool) -> None:  # noqa: ARG002
        """Stop speech that broke off."""
        if self._open:
            context, self._open = self._open, None
            await self.push_frame(TTSStoppedFrame(context_id=context))

    def is_failure(self, error: ErrorFrame) -> bool:
        """Return whether it is the synthesizer's fault; its silence is not where there is nothing to speak."""
        return super().is_failure(error) and (self._rest > 0 or not error.error.endswith(_SILENCE))


def _letters(frame: Frame) -> int:
    """Return how many letters and digits a frame has to be spoken; synthesizers change the rest."""
    return sum(map(str.isalnum, frame.text)) if isinstance(frame, TextFrame | TTSSpeakFrame) else 0


def _without(frame: Frame, letters: int) -> Frame:
    """Return a text frame without its first letters."""
    if not isinstance(frame, TextFrame | TTSSpeakFrame):
        return frame
    at = 0
    while letters and at < len(frame.text):
        letters -= frame.text[at].isalnum()
        at += 1
    begun = frame.text.rfind(" ", 0, at) + 1
    if at - begun < _WORD_LETTERS_MAX and frame.text[at : at + 1].isalnum():
        at = begun  # a word that broke off is begun again
    text = frame.text[at:]
    if isinstance(frame, TTSSpeakFrame):
        rest = TTSSpeakFrame(text, append_to_context=frame.append_to_context)
        rest.interruptible = frame.interruptible
        return rest
    cut = copy(frame) if not isinstance(frame, LLMTextFrame) else LLMTextFrame(text)
    cut.text = text
    return cut
