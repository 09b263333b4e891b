"""Fail-over of speech recognition: what the customer said meanwhile is heard by the next transcriber."""

from collections import deque
from collections.abc import Sequence

from pipecat.frames.frames import (
    Frame,
    InputAudioRawFrame,
    InterimTranscriptionFrame,
    STTUpdateSettingsFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)

from .base import Failover
from .candidate import Candidate, Patience
from .outages import Outages

KEPT_S = 20.0
"""Most of what a customer said that is kept for a second transcriber."""
_BEFORE_S = 0.5
"""Kept of what came before the speech was noticed."""
_WORDS_S = 1.0
"""Speech that is longer has words in it, so that silence about it is suspicious."""


class SttFailover(Failover):
    """A transcriber with its substitutes.

    One that says nothing about speech of more than a second is asked no more, but it is no failure, as it may have been
    a cough: the next one hears the same again.
    """

    what = "The speech recognition"
    updates = STTUpdateSettingsFrame
    from_behind = (VADUserStartedSpeakingFrame, VADUserStoppedSpeakingFrame)

    def __init__(self, candidates: Sequence[Candidate], patience: Patience, outages: Outages | None = None) -> None:
        """Build the first of `candidates` that can be built."""
        super().__init__(candidates, patience, outages)
        self._before: deque[InputAudioRawFrame] = deque()
        self._is_speaking = False
        self._has_words = False  # since speech began
        self._is_unfinished = False  # words came that are not final
        self._asked: set[str] = set()  # who was given the speech
        self._kept_s = 0.0

    def owes(self, frame: Frame) -> bool:
        """Return whether it is part of what the customer says."""
        if isinstance(frame, InputAudioRawFrame):
            return self._is_speaking
        return isinstance(frame, VADUserStartedSpeakingFrame | VADUserStoppedSpeakingFrame)

    def given(self, frame: Frame) -> None:
        """Expect words once the customer has stopped."""
        if isinstance(frame, InputAudioRawFrame):
            self._listen(frame)
        elif isinstance(frame, VADUserStartedSpeakingFrame):
            self._begin_speech()
        elif isinstance(frame, VADUserStoppedSpeakingFrame):
            self._is_speaking = False
            self.given_again(frame)

    def given_again(self, frame: Frame) -> None:
        """Expect words of speech that is over."""
        if isinstance(frame, VADUserStoppedSpeakingFrame):
            self._asked.add(self.candidate.name)
            if self._is_unfinished or not self._has_words:
                self.expect()

    def _begin_speech(self) -> None:
        self.disarm()
        if not self._is_speaking:
            for sound in self._before:
                self.journal.keep(sound, is_owed=True, passed=True)
            self._before.clear()
            self._has_words = self._is_unfinished = False
            self._asked.clear()
        self._is_speaking = True

    def _listen(self, sound: InputAudioRawFrame) -> None:
        if self._is_speaking:
            self._kept_s += _seconds(sound)
            if self._kept_s > KEPT_S:
                self._kept_s -= _seconds(sound)
                self.journal.drop_first(InputAudioRawFrame)
            return
        self._before.append(sound)
        while sum(map(_seconds, self._before)) > _BEFORE_S:
            self._before.popleft()

    async def gave(self, frame: Frame) -> bool:
        """Note the words; final ones end what is owed."""
        if isinstance(frame, InterimTranscriptionFrame):
            self._has_words = self._is_unfinished = True
        elif isinstance(frame, TranscriptionFrame):
            self._has_words, self._is_unfinished = True, False
            self.succeeded()
            self._heard()
        return True

    def _heard(self) -> None:
        """Forget what was heard; of one who still speaks, that they began stays known."""
        speaking = self._is_speaking
        self._kept_s = 0.0
        self.journal.drop(lambda owed: not (speaking and isinstance(owed, VADUserStartedSpeakingFrame)))
        self.disarm()

    def _hung(self) -> None:
        names = {other.name for other in self._candidates if not other.given_up}
        if self._is_unfinished:
            super()._hung()
        elif self._kept_s > _WORDS_S and names - self._asked:
            self.fail("heard no words", is_fault=False)
        else:
            self._heard()


def _seconds(sound: InputAudioRawFrame) -> float:
    return sound.num_frames / sound.sample_rate
