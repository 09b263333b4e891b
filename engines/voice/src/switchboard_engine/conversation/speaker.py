"""What the assistant says besides its model: fixed sentences, filler words, and sentences while a tool works.

What fills a pause comes only when the pause is long enough to be noticed; it is heard, but is no part of the context.
"""

import asyncio
import re
from collections.abc import Coroutine, Sequence

from pipecat.frames.frames import (
    Frame,
    FunctionCallInProgressFrame,
    FunctionCallResultFrame,
    InterruptionFrame,
    LLMTextFrame,
    TTSSpeakFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from .settings import FillerWords

FILLER_AFTER_S = 0.35
"""How long the model may think before a filler word."""
WAITING_AFTER_S = 1.0
"""How long a tool may take before the first sentence, and each further one after `WAITING_EVERY_S`."""
WAITING_EVERY_S = 6.0
WAITING_MAX = 3
"""Most sentences for one tool."""

_QUESTION = re.compile(
    r"\?\s*$|^(who|what|when|where|why|how|which|can|could|do|does|is|are|will|would|"
    r"wer|was|wann|wo|warum|wie|welche|kann|können|qui|que|quoi|quand|où|pourquoi|comment|"
    r"quién|qué|cuándo|dónde|cómo|chi|cosa|quando|dove|perché|come)\b",
    re.IGNORECASE,
)
_NEGATIVE = re.compile(
    r"\b(no|not|never|problem|wrong|broken|bad|angry|cancel|complain\w*|sorry|unfortunately|nein|nicht|schlecht|"
    r"kaputt|leider|non|mauvais|malheureusement|malo|mal|purtroppo)\b",
    re.IGNORECASE,
)
_POSITIVE = re.compile(
    r"\b(yes|great|good|perfect|thanks|thank|wonderful|nice|ja|gut|toll|danke|prima|oui|merci|bien|parfait|sí|"
    r"gracias|perfecto|sì|grazie|perfetto|bene)\b",
    re.IGNORECASE,
)


def tone(said: str) -> str:
    """Return the tone of what was said: `question`, `negative`, `positive` or `neutral`."""
    for name, pattern in (("question", _QUESTION), ("negative", _NEGATIVE), ("positive", _POSITIVE)):
        if pattern.search(said.strip()):
            return name
    return "neutral"


class Speaker(FrameProcessor):
    """Between the model and text-to-speech: sees when the answer comes, and speaks where it does not."""

    def __init__(self, words: FillerWords | None, waiting: Sequence[str]) -> None:
        """Speak `words`, None for none, and `waiting` sentences for tools."""
        super().__init__()
        self._words = words
        self._waiting = tuple(waiting)
        self._turns = 0
        self._tools: set[str] = set()
        self._timer: asyncio.Task[None] | None = None
        self.model_is_silent = False
        """Whether what the model says is dropped: only fixed sentences are spoken."""

    def filler(self, said: str) -> str | None:
        """Return the next filler word for what the customer said; None where there is none for its tone."""
        if self._words is None:
            return None
        choice: tuple[str, ...] = getattr(self._words, tone(said)) or self._words.neutral
        self._turns += 1
        return choice[self._turns % len(choice)] if choice else None

    async def say(self, text: str, *, to_context: bool = True, interruptible: bool = True) -> None:
        """Have a sentence spoken, behind what is being said."""
        await self._stop()
        frame = TTSSpeakFrame(text, append_to_context=to_context)
        frame.interruptible = interruptible
        await self.push_frame(frame)

    async def thinking(self, said: str) -> None:
        """The model begins to answer the customer."""
        word = self.filler(said)
        if word is not None:
            await self._start(self._fill(word))

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Follow the answer, and pass everything on."""
        await super().process_frame(frame, direction)
        match frame:
            case LLMTextFrame() if self.model_is_silent:
                return
            case LLMTextFrame() if frame.text.strip():
                await self._stop()
            case FunctionCallInProgressFrame() if direction is FrameDirection.DOWNSTREAM and self._waiting:
                if not self._tools:
                    await self._start(self._wait())
                self._tools.add(frame.tool_call_id)
            case FunctionCallResultFrame() if direction is FrameDirection.DOWNSTREAM:
                self._tools.discard(frame.tool_call_id)
                if not self._tools:
                    await self._stop()
            case InterruptionFrame():
                await self._stop()
            case _:
                pass
        await self.push_frame(frame, direction)

    async def cleanup(self) -> None:
        """Stop waiting."""
        await self._stop()
        await super().cleanup()  # type: ignore[no-untyped-call]

    async def _start(self, work: Coroutine[None, None, None]) -> None:
        await self._stop()
        self._timer = self.create_task(work)

    async def _stop(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer is not asyncio.current_task():
            await self.cancel_task(timer)

    async def _fill(self, word: str) -> None:
        await asyncio.sleep(FILLER_AFTER_S)
        await self._speak(word)

    async def _wait(self) -> None:
        for nth in range(WAITING_MAX):
            await asyncio.sleep(WAITING_EVERY_S if nth else WAITING_AFTER_S)
            await self._speak(self._waiting[nth % len(self._waiting)])

    async def _speak(self, text: str) -> None:
        await self.push_frame(TTSSpeakFrame(text, append_to_context=False))
