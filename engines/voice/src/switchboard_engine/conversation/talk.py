"""A conversation that runs, to all who act on it.

Those are the functions of the model, the commands of the service, the clocks, and what follows from who answered.
"""

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from pipecat.frames.frames import InterruptionFrame, LLMMessagesAppendFrame

from ..client import Call
from ..client.events import Dtmf, Event, Hold, Resume, Transfer
from ..legs import LegError, Line, Transferred
from .ambience import BackgroundMixer
from .keypad import Keypad
from .phrases import Phrases, phrases_of
from .pipeline import ConversationPipeline
from .settings import ConversationSettings
from .signals import Signals
from .speaker import Speaker
from .speech import Speech
from .transcript import TranscriptLines

Result = TypeVar("Result")

SAID_S = 60.0
"""Longest wait for a sentence to be said."""
CUT_S = 2.0
"""Longest wait for an interruption to pass."""
DTMF_CHARS_MAX = 64
_FIRST_WORD_S = 6.0

_log = logging.getLogger(__name__)


def background(work: Coroutine[Any, Any, Result], what: str) -> asyncio.Task[Result]:
    """Run something beside the conversation, and log what breaks in it; the caller keeps the task."""
    task = asyncio.create_task(work, name=what)

    def done(task: asyncio.Task[Result]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("%s broke", what, exc_info=error)

    task.add_done_callback(done)
    return task


@dataclass(frozen=True)
class End:
    """Why a conversation ends: by whom, the reason in plain words, and whether the line is to be hung up first."""

    by: str
    reason: str
    failed: bool = False


class Talk:
    """What can be done in a conversation while its line is up."""

    def __init__(
        self,
        call: Call,
        settings: ConversationSettings,
        pipeline: ConversationPipeline,
        *,
        line: Line,
        speaker: Speaker,
        speech: Speech,
        signals: Signals,
        lines: TranscriptLines,
        mixer: BackgroundMixer,
    ) -> None:
        """Take the parts of a conversation."""
        self.call, self.settings, self.pipeline, self.line = call, settings, pipeline, line
        self.speaker, self.speech, self.signals, self.lines, self.mixer = speaker, speech, signals, lines, mixer
        self.keypad = Keypad()
        self.over: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        self.working = 0
        """Functions that run: silence meanwhile is no silence."""
        self.on_hold = False
        self._ending: asyncio.Task[None] | None = None

    @property
    def phrases(self) -> Phrases:
        """What the engine itself says, in the language of the call."""
        return phrases_of(self.lines.language)

    @property
    def is_ending(self) -> bool:
        """Whether the end is decided: what is being said is the last."""
        return self._ending is not None or self.over.done()

    @property
    def has_voice(self) -> bool:
        """Whether fixed sentences can be spoken: a speech-to-speech model says them in its own words."""
        return self.pipeline.stages.tts is not None

    async def report(self, event: Event) -> None:
        """Report an event of the call."""
        await self.call.report(event)

    def end(self, by: str, reason: str, *, failed: bool = False) -> None:
        """End the conversation now; the first reason counts."""
        if not self.over.done():
            self.over.set_result(End(by, reason, failed))

    def end_after_speech(self, by: str, reason: str, *, farewell: str | None = None) -> None:
        """End once what is being said has been said; the farewell is for a turn in which nothing was."""
        self._end_soon(self._end_after_speech(by, reason, farewell=farewell))

    def give_up(self, reason: str) -> None:
        """Say once that nothing works any more, and end; nothing else is said from now on."""
        if not self.is_ending:
            # A mailbox, to which only its message is said, is told nothing of this.
            last = None if self.speaker.model_is_silent else self.phrases.failed
            self.speaker.model_is_silent = True
            self._end_soon(self._end_after_speech("engine", reason, last=last))

    def _end_soon(self, work: Coroutine[Any, Any, None]) -> None:
        if self._ending is None:
            self._ending = background(work, f"call {self.call.id}: its end")
        else:
            work.close()

    async def _end_after_speech(
        self, by: str, reason: str, *, last: str | None = None, farewell: str | None = None
    ) -> None:
        try:
            if last:
                await self.say(last, interruptible=False)
            await self.said()
            if farewell and not self.lines.bot_said:
                await self.say(farewell, interruptible=False)
                await self.said()
        finally:
            self.end(by, reason)

    async def say(self, text: str, *, to_context: bool = True, interruptible: bool = True) -> None:
        """Have a sentence spoken; returns before it is heard."""
        if self.has_voice:
            await self.speaker.say(text, to_context=to_context, interruptible=interruptible)
        else:
            await self.context(f"Say exactly this now, and nothing else: {text}", run=True)

    async def said(self, within_s: float = SAID_S) -> None:
        """Wait until everything that is being said was heard or cut off."""
        try:
            async with asyncio.timeout(within_s):
                if self.has_voice:
                    mark = self.speech.mark()
                    # From the beginning of the pipeline: behind an answer that the model is still writing.
                    await self.pipeline.worker.queue_frame(mark)
                    await mark.reached.wait()
                else:
                    await self._spoke()
                await self.speech.quiet.wait()
        except TimeoutError:
            _log.warning("call %d: a sentence did not come to its end", self.call.id)

    async def _spoke(self) -> None:
        """Wait for a model's own voice to begin, if it is going to."""
        spoken = self.speech.spoken
        for _ in range(int(_FIRST_WORD_S / 0.05)):
            if self.speech.spoken != spoken or not self.speech.quiet.is_set():
                return
            await asyncio.sleep(0.05)

    async def context(self, text: str, *, run: bool) -> None:
        """Tell the model something that the customer does not hear; with `run` it answers."""
        message = {"role": "developer", "content": text}
        frame = LLMMessagesAppendFrame([message], run_llm=run)  # type: ignore[list-item]
        if self.settings.mode == "pipeline":
            await self.pipeline.worker.queue_frame(frame)
        else:
            # A speech-to-speech model has to be told itself: it does not answer what is only added to the context.
            await self.pipeline.stages.model.queue_frame(frame)

    async def interrupt(self) -> None:
        """Cut off what is being thought and said; returns once it is, so that what is said next is not cut off too."""
        self.speech.cut.clear()
        await self.pipeline.worker.queue_frame(InterruptionFrame())
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.speech.cut.wait(), CUT_S)
        # Nobody is owed the rest of it.
        self.speech.was_cut = False

    async def send_keys(self, digits: str) -> None:
        """Press keys; raises `LegError`, and `ValueError` for what is no key."""
        if not 1 <= len(digits) <= DTMF_CHARS_MAX:
            message = f"1 to {DTMF_CHARS_MAX} keys can be pressed at a time, not {len(digits)}."
            raise ValueError(message)
        await self.line.send_dtmf(digits)
        await self.report(Dtmf(digits, by="assistant"))

    async def hold(self) -> None:
        """Put the customer on hold; raises `LegError`."""
        await self.line.hold()
        self.on_hold = True
        await self.report(Hold())

    async def resume(self) -> None:
        """Take the customer off hold; raises `LegError`."""
        await self.line.resume()
        self.on_hold = False
        self.signals.customer_acts()
        await self.report(Resume())

    async def transfer(self, to: str, *, consultation: Line | None = None) -> Transferred:
        """Hand the customer over; after `accepted` the call ends, after `failed` it goes on. Raises `LegError`."""
        mode = "blind" if consultation is None else "warm"
        await self.report(Transfer(to, mode=mode, status="started"))  # type: ignore[arg-type]
        self.working += 1
        try:
            if consultation is None:
                result = await self.line.transfer(to)
            else:
                result = await self.line.transfer(to, "warm", consultation=consultation)
        except LegError as error:
            await self.report(Transfer(to, mode=mode, status="failed", reason=str(error)))  # type: ignore[arg-type]
            raise
        finally:
            self.working -= 1
            self.signals.customer_acts()
        reason = result.reason or None
        await self.report(Transfer(to, mode=mode, status=result.status, reason=reason))  # type: ignore[arg-type]
        if result.status == "accepted":
            self.end("assistant", f"transferred to {to}")
        return result

    def close(self) -> None:
        """Let go of what still waits."""
        if self._ending is not None:
            self._ending.cancel()
