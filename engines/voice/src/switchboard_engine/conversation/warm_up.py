"""A turn before the first call: what is imported and compiled once is not waited for by a customer."""

import asyncio
import logging
from collections.abc import AsyncGenerator
from typing import Any

from loguru import logger as pipecat_logger
from pipecat.frames.frames import (
    Frame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameDirection
from pipecat.services.llm_service import LLMService
from pipecat.services.settings import LLMSettings, TTSSettings
from pipecat.services.tts_service import TTSService
from pipecat.utils.time import time_now_iso8601
from typing_extensions import override

from ..client import Assistant
from ..client.events import Event
from ..legs.transport import FRAME_MS, PIPELINE_HZ, LineAudio, LineTransport
from .listening import Listening
from .machines import MuteSwitch
from .measures import TurnMeasures
from .pipeline import ConversationPipeline, Middle, Stages
from .settings import ConversationSettings
from .signals import Signals
from .speaker import Speaker
from .speech import Speech
from .transcript import TranscriptLines

WITHIN_S = 20.0
_FRAME_BYTES = PIPELINE_HZ * FRAME_MS // 1000 * 2

NO_SETTINGS = LLMSettings(
    model="none",
    system_instruction=None,
    temperature=None,
    max_tokens=None,
    top_p=None,
    top_k=None,
    frequency_penalty=None,
    presence_penalty=None,
    seed=None,
    filter_incomplete_user_turns=False,
    user_turn_completion_config=None,
)

_log = logging.getLogger(__name__)


class _NoLine(LineAudio):
    """A line on which nobody is."""

    @property
    def flows(self) -> bool:
        return True

    def read(self) -> bytes:
        return bytes(_FRAME_BYTES)

    async def write(self, pcm: bytes, sample_hz: int) -> bool:
        del pcm, sample_hz
        return True

    async def drain(self) -> None:
        return

    def flush(self) -> None:
        return


class _NoModel(LLMService[Any]):
    """Answers with one word."""

    @override
    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMContextFrame):
            for part in (LLMFullResponseStartFrame(), LLMTextFrame("Yes."), LLMFullResponseEndFrame()):
                await self.push_frame(part)
        else:
            await self.push_frame(frame, direction)


class _NoVoice(TTSService):
    """Says nothing, for a moment."""

    @override
    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame, None]:
        yield TTSAudioRawFrame(bytes(_FRAME_BYTES), PIPELINE_HZ, 1, context_id=context_id)


async def warm_up() -> None:
    """Hold a conversation of one turn with nobody; Pipecat's own log becomes part of ours."""
    _forward_log()
    settings = ConversationSettings.read(Assistant.read({}))
    said = asyncio.Event()

    async def report(event: Event) -> None:
        if event.type == "transcript" and getattr(event, "sender", "") == "bot":
            said.set()

    lines = TranscriptLines(report, language="en")
    middle = Middle(
        Listening(lines, Signals()), Speaker(None, ()), Speech(lines), observers=[TurnMeasures(lines, report)]
    )
    stages = Stages(
        llm=_NoModel(settings=NO_SETTINGS),
        tts=_NoVoice(
            push_start_frame=True, push_stop_frames=True, settings=TTSSettings(model="none", voice=None, language=None)
        ),
    )
    pipeline = await ConversationPipeline.build(stages, middle, settings, [], MuteSwitch())
    pipeline.attach(LineTransport(_NoLine(), _no_keys), None)
    try:
        await pipeline.start(WITHIN_S)
        await pipeline.worker.queue_frames(
            [
                VADUserStartedSpeakingFrame(start_secs=0.2),
                VADUserStoppedSpeakingFrame(stop_secs=0.2),
                TranscriptionFrame("hello", "", time_now_iso8601()),
            ]
        )
        await asyncio.wait_for(said.wait(), WITHIN_S)
    finally:
        await pipeline.stop()


async def _no_keys(_: str) -> None:
    return


def _forward_log() -> None:
    """Pass Pipecat's warnings on to the engine's log; what is below would have prompts and transcripts in it."""
    pipecat_logger.remove()
    pipecat_logger.add(lambda message: _log.warning("%s", str(message).strip()), level="WARNING", format="{message}")
