"""What follows from who answered an outbound call: a message on a voicemail, a word to a screening or a menu."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable

import numpy as np
from pipecat.frames.frames import Frame
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.turns.user_mute import BaseUserMuteStrategy

from ..client.events import Detected
from .answering import QUESTION, WATCHED_S, Answering, BeepDetector, Kind
from .pipeline import PIPELINE_HZ
from .talk import Talk, background

BEEP_S = 25.0
"""How long a voicemail is listened to for its beep."""
QUIET_S = 2.0
"""Silence after which a voicemail records, beep or not."""
JUDGE_S = 4.0
_AUDIBLE = 200.0

_SCREENING = (
    "An automatic call screening answered, not the person. When it asks, tell it in one sentence who calls and why, "
    "then wait for the person."
)
_MENU = "A recorded menu answered, not a person. Choose what leads to the person, by keys if you can press them."

_log = logging.getLogger(__name__)


class MuteSwitch(BaseUserMuteStrategy):
    """Lets the conversation be deaf for a while: a mailbox that speaks is not answered."""

    def __init__(self) -> None:
        """Begin with open ears."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.on = False

    async def process_frame(self, frame: Frame) -> bool:
        """Return whether the customer is not heard."""
        await super().process_frame(frame)
        return self.on


class Machines:
    """Watches the first moments of an outbound call."""

    def __init__(self, talk: Talk, mute: MuteSwitch, now: Callable[[], float] = time.monotonic) -> None:
        """Begin with the answer; `now` is a clock that only moves on, seconds."""
        self._talk, self._mute, self._now = talk, mute, now
        # A speech-to-speech model answers nothing beside its conversation.
        self._answering = Answering(self._judge if talk.settings.mode == "pipeline" else None)
        self._beep = BeepDetector(PIPELINE_HZ)
        self._answered_at = now()
        self._sound_at = now()
        self._beeped = asyncio.Event()
        self._acting: asyncio.Task[None] | None = None
        talk.signals.on_said.append(self._said)
        talk.signals.on_understood.append(self._partly)
        talk.signals.on_sound.append(self._sound)

    @property
    def _watches(self) -> bool:
        return self._now() - self._answered_at <= WATCHED_S and not self._answering.is_over

    async def _said(self, text: str) -> None:
        if self._watches and (kind := await self._answering.said(text)) is not None:
            self._act(kind)

    def _partly(self, text: str) -> None:
        if self._watches and (kind := self._answering.partly(text)) is not None:
            self._act(kind)

    def _sound(self, pcm: bytes) -> None:
        if self._beeped.is_set() or self._now() - self._answered_at > WATCHED_S + BEEP_S:
            return
        samples = np.frombuffer(pcm, dtype=np.int16).astype(np.float64)
        if len(samples) and float(np.sqrt(np.mean(samples**2))) > _AUDIBLE:
            self._sound_at = self._now()
        if self._beep.heard(pcm):
            self._beeped.set()
            if self._watches and self._answering.verdict is None:
                self._answering.verdict = "voicemail"
                self._act("voicemail")

    def _act(self, kind: Kind) -> None:
        if self._acting is None or self._acting.done():
            self._acting = background(self._acted(kind), f"call {self._talk.call.id}: what follows from a {kind}")

    async def _acted(self, kind: Kind) -> None:
        talk = self._talk
        await talk.report(Detected("human" if kind == "person" else "machine", kind))
        if kind == "screening":
            await talk.context(_SCREENING, run=False)
        elif kind == "menu":
            await talk.context(_MENU, run=False)
        elif kind == "voicemail" and talk.settings.ends_on_voicemail:
            await self._leave_message()

    async def _leave_message(self) -> None:
        """Be silent until the voicemail records, leave the message, and hang up."""
        talk = self._talk
        self._mute.on = talk.speaker.model_is_silent = True
        await talk.interrupt()
        await self._until_recording()
        if self._beeped.is_set():
            await talk.report(Detected("machine", "voicemail", beep=True))
        if talk.settings.voicemail:
            await talk.say(talk.settings.voicemail, interruptible=False)
            await talk.said()
        talk.end("assistant", "voicemail")

    async def _until_recording(self) -> None:
        deadline = self._now() + BEEP_S
        while self._now() < deadline and self._now() - self._sound_at < QUIET_S:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._beeped.wait(), 0.1)
                return

    async def _judge(self, said: str) -> Kind | None:
        """Ask the model; None where it does not answer in time, or nothing that is known."""
        try:
            async with asyncio.timeout(JUDGE_S):
                answer = await self._talk.pipeline.stages.llm.run_inference(
                    LLMContext([{"role": "user", "content": said}]), max_tokens=8, system_instruction=QUESTION
                )
        except Exception as error:
            _log.warning("call %d: who answered was not judged: %r", self._talk.call.id, error)
            return None
        word = str(answer or "").strip().lower().strip(".`'\"")
        kinds: dict[str, Kind] = {kind: kind for kind in ("person", "voicemail", "screening", "menu")}
        return kinds.get(word)

    def close(self) -> None:
        """Stop watching."""
        if self._acting is not None:
            self._acting.cancel()
