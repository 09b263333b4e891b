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

    def __init__(self, lines: TranscriptLines, signals: Signals) -> None:
        """Watch one customer."""
        super().__init__()
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
                self._lines.customer_began(frame.timestamp - frame.start_secs)
                self._signals.customer_speaks()
            case VADUserStoppedSpeakingFrame():
                self._lines.customer_paused(frame.timestamp - frame.stop_secs)
                self._signals.customer_paused()
            case UserStartedSpeakingFrame():
                # Of models that find turns themselves, this is all that comes.
                self._lines.customer_began(time.time())
                self._signals.customer_speaks()
            case UserStoppedSpeakingFrame():
                self._signals.customer_done()
            case EndFrame() | CancelFrame():
                # What was understood, and would have become a line.
                await self._lines.customer(" ".join(self._finals))
                self._finals.clear()
                self._over = True
            case LLMContextUserTurnFrame() if not self._over:
                self._finals.clear()
                await self._lines.customer(frame.text)
                await self._signals.customer_said(frame.text)
            case _:
                pass

    async def _in_language(self, language: str | None) -> None:
        self._lines.customer_language(language)
        if language is not None:
            for listener in self._signals.on_language:
                await listener(language)
