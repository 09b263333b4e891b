"""What the customer hears of the assistant: the last processor, behind the line.

It sees sound when it was played. From it come the transcript's lines, the words that the model's context gets as the
assistant's own, and the moments at which everything was said.
"""

import asyncio
from dataclasses import dataclass, field

from pipecat.frames.frames import (
    AggregatedTextFrame,
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    CancelFrame,
    DataFrame,
    EndFrame,
    Frame,
    InterruptionFrame,
    LLMAssistantPushAggregationFrame,
    LLMFullResponseEndFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    TTSTextFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.utils.text.base_text_aggregator import TextType

from .transcript import TranscriptLines
from .words import CHARACTERS_A_SECOND, WordPace

_SAMPLE_BYTES = 2


@dataclass
class SpokenMark(DataFrame):
    """Travels behind what is to be said; `reached` is set once all before it was played, or dropped."""

    reached: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Outlive interruptions: what is dropped then is what the mark waits for."""
        super().__post_init__()  # type: ignore[no-untyped-call]
        self.interruptible = False


class Speech(FrameProcessor):
    """Follows what was played."""

    def __init__(self, lines: TranscriptLines, *, speed: float = 1.0) -> None:
        """Tell the transcript; `speed` is that of the voice, 1 is normal."""
        super().__init__()
        self.quiet = asyncio.Event()
        """Set while the assistant does not speak."""
        self.quiet.set()
        self.cut = asyncio.Event()
        """Set by each interruption, once nothing of before is heard any more."""
        self.was_cut = False
        """Whether an interruption cut something off; whoever makes up for it sets it back."""
        self.spoken = 0
        """Times that the assistant began to speak."""
        self._lines = lines
        self._pace = WordPace(CHARACTERS_A_SECOND * speed)
        self._paced = False
        self._to_context = True
        self._late = False
        """Whether words and sound may still come that an interruption has overtaken."""
        self._insists = False
        """Whether what is being said is said whatever the customer does."""
        self._marks: list[SpokenMark] = []
        self._over = False

    async def line_over(self) -> None:
        """Nothing is heard any more, whatever still comes."""
        if not self._over:
            self._over = True
            await self._lines.bot_done(interrupted=self._pace.interrupted() or not self.quiet.is_set())

    def mark(self) -> SpokenMark:
        """Make a mark to queue behind what is to be said."""
        mark = SpokenMark()
        self._marks.append(mark)
        return mark

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Take note, and pass on what the assistant's side of the context is to have."""
        await super().process_frame(frame, direction)
        if direction is FrameDirection.UPSTREAM or not (self._is_late(frame) or await self._take(frame)):
            await self.push_frame(frame, direction)

    def _is_late(self, frame: Frame) -> bool:
        """Whether it was interrupted: Pipecat's output passes interruptions on before it drops what they interrupt."""
        return self._late and frame.interruptible and isinstance(frame, TTSAudioRawFrame | TTSTextFrame)

    async def _take(self, frame: Frame) -> bool:
        """Follow a frame; returns whether it ends here."""
        if self._over and not isinstance(frame, SpokenMark | EndFrame | CancelFrame):
            return False
        match frame:
            case TTSAudioRawFrame():
                await self._played(frame)
            case TTSTextFrame():
                return self._text(frame)
            case AggregatedTextFrame() if frame.will_be_spoken:
                self._announced(frame)
            case TTSStartedFrame():
                self._late = False
                self._to_context = frame.append_to_context
            case TTSStoppedFrame():
                self._insists = False
                await self._push_words(self._pace.finished())
            case LLMFullResponseEndFrame() | LLMAssistantPushAggregationFrame():
                # Pipecat sends the second of them before the end of the sound that it follows.
                await self._push_words(self._pace.finished())
                await self._lines.bot_done()
            case InterruptionFrame() | EndFrame() | CancelFrame():
                await self._cut(frame)
            case BotStartedSpeakingFrame() if self._insists or not self._late:
                # Late sound makes Pipecat take the assistant for speaking again, for seconds.
                self.quiet.clear()
                self.spoken += 1
            case BotStoppedSpeakingFrame():
                self.quiet.set()
            case SpokenMark():
                self._reach(frame)
                return True
            case _:
                pass
        return False

    def _announced(self, frame: AggregatedTextFrame) -> None:
        """Take a text that is about to be said; without a time on it, no word of it will have one.

        A service that stands in for another may be of the other kind.
        """
        self._insists = not frame.interruptible
        self._paced = frame.pts is None
        if self._paced:
            self._pace.announce(frame.text, interruptible=frame.interruptible)

    async def _played(self, frame: TTSAudioRawFrame) -> None:
        seconds = len(frame.audio) / _SAMPLE_BYTES / frame.num_channels / frame.sample_rate
        self._lines.sound(seconds)
        await self._push_words(self._pace.played(seconds))

    def _text(self, frame: TTSTextFrame) -> bool:
        """Take a text that the service told; one of a whole sentence was spread over its sound already."""
        if self._paced:
            return True
        self._lines.heard(frame.text)
        return False

    async def _push_words(self, heard: list[str]) -> None:
        for word in heard:
            self._lines.heard(word)
            frame = TTSTextFrame(word, TextType.WORD)
            frame.append_to_context = self._to_context
            await self.push_frame(frame)

    async def _cut(self, frame: Frame) -> None:
        """The rest will not be heard, unless it is said whatever happens."""
        if isinstance(frame, InterruptionFrame) and self._insists:
            self._pace.interrupted()
            self._late = True
            self.cut.set()
            return
        cut = self._pace.interrupted() or not self.quiet.is_set()
        await self._lines.bot_done(interrupted=cut and not isinstance(frame, EndFrame))
        self.was_cut = self.was_cut or cut
        self._late = True
        self.cut.set()
        if not isinstance(frame, InterruptionFrame):
            self.quiet.set()
            for mark in tuple(self._marks):
                self._reach(mark)

    def _reach(self, mark: SpokenMark) -> None:
        self._marks = [other for other in self._marks if other is not mark]
        mark.reached.set()
