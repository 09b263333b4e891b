"""What is heard of the customer: the processor behind speech-to-text, before the context's side of the customer."""

import time

from pipecat.frames.frames import (
    CancelFrame,
    EndFrame,
    Frame,
    InputAudioRawFrame,
    InterimTranscriptionFrame,
    LLMContextUserTurnFrame,
    TranscriptionFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from .signals import Signals
from .transcript import TranscriptLines


class Listening(FrameProcessor):
    """Tells the transcript, and the conversation by its signals."""

    def __init__(self, lines: TranscriptLines, signals: Signals, *, by_model: bool = False) -> None:
        """Watch one customer; `by_model` where a speech-to-speech model hears them, and is late with what it heard."""
        super().__init__()
        self._by_model = by_model
        self._spoke_s = 0.0
        self._began_at: float | None = None
        self._lines = lines
        self._signals = signals
        self._finals: list[str] = []
        self._over = False

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Take note and pass everything on."""
        await super().process_frame(frame, direction)
        await self._take(frame)
        await self.push_frame(frame, direction)

    async def _take(self, frame: Frame) -> None:
        match frame:
            case InputAudioRawFrame():
                for listener in self._signals.on_sound:
                    listener(frame.audio)
            case TranscriptionFrame() if frame.text.strip():
                await self._in_language(str(frame.language) if frame.language else None)
                self._finals.append(frame.text.strip())
                self._signals.understood(frame.text)
            case InterimTranscriptionFrame() if frame.text.strip():
                await self._lines.partly(" ".join((*self._finals, frame.text.strip())))
                self._signals.understood(frame.text)
            case VADUserStartedSpeakingFrame():
                self._began_at = frame.timestamp - frame.start_secs
                self._lines.customer_began(self._began_at)
                self._signals.customer_speaks()
            case VADUserStoppedSpeakingFrame():
                stopped_at = frame.timestamp - frame.stop_secs
                self._spoke_s += stopped_at - (self._began_at or stopped_at)
                self._lines.customer_paused(stopped_at)
                self._signals.customer_paused()
            case UserStartedSpeakingFrame():
                # Of models that find turns themselves, this is all that comes.
                self._lines.customer_began(time.time())
                self._signals.customer_speaks()
            case UserStoppedSpeakingFrame():
                self._turn_over()
            case EndFrame() | CancelFrame():
                # What was understood, and would have become a line.
                await self._lines.customer(" ".join(self._finals))
                self._finals.clear()
                self._over = True
            case LLMContextUserTurnFrame() if not self._over:
                self._finals.clear()
                self._spoke_s = 0.0
                if not self._by_model:
                    self._signals.customer_done()
                await self._lines.customer(frame.text)
                await self._signals.customer_said(frame.text)
            case _:
                pass

    def _turn_over(self) -> None:
        """The turn's end comes before its line; where nothing was understood, there is none."""
        if self._by_model:
            self._signals.customer_done()
        elif not self._finals:
            spoke_s, self._spoke_s = self._spoke_s, 0.0
            self._signals.customer_unheard(spoke_s)

    async def _in_language(self, language: str | None) -> None:
        self._lines.customer_language(language)
        if language is not None:
            for listener in self._signals.on_language:
                await listener(language)
