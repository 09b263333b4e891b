"""Speech-to-text by pocketsphinx within a grammar: exact for what the grammar has, deaf for all else."""

import asyncio
import re
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from pipecat.frames.frames import (
    CancelFrame,
    EndFrame,
    Frame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessorSetup
from pipecat.services.settings import STTSettings
from pipecat.services.stt_service import STTService
from pipecat.transcriptions.language import Language
from pipecat.utils.time import time_now_iso8601
from typing_extensions import override

from .pronunciation import pronunciations

if TYPE_CHECKING:
    import pocketsphinx

Result = TypeVar("Result")

SAMPLE_HZ = 16_000
BEFORE_S = 0.6
"""Sound from before speech was detected that belongs to it."""
FINAL_S = 0.35
"""Time to the final transcript, nearly always."""
# Wide beams: with the usual ones the search drops the right path of synthetic speech.
BEAMS = {"beam": 1e-80, "pbeam": 1e-80, "wbeam": 1e-60}
_WORD = re.compile(r"[a-z']+")
_FLOOR = np.random.default_rng(1).normal(0, 12, 8 * SAMPLE_HZ)
"""Noise that nobody hears: without any, the silence of a telephone is no sound that the model knows."""


def on_a_floor(pcm: bytes) -> bytes:
    """Return 16-bit sound with a floor of noise under it."""
    samples = np.frombuffer(pcm, dtype=np.int16)
    return np.clip(samples + np.resize(_FLOOR, len(samples)), -32_768, 32_767).astype(np.int16).tobytes()


def jsgf(phrases: Sequence[str]) -> str:
    """Return a grammar (JSGF 1.0) of whole phrases; raises `ValueError` where none has a word."""
    plain = [" ".join(_WORD.findall(phrase.lower())) for phrase in phrases]
    alternatives = " | ".join(phrase for phrase in plain if phrase)
    if not alternatives:
        message = "No phrase of the grammar has a word."
        raise ValueError(message)
    return f"#JSGF V1.0;\ngrammar phrases;\npublic <phrase> = {alternatives};\n"


class SphinxSTTService(STTService):
    """Understands English phrases. Each has a decoder of its own."""

    def __init__(self, grammar: str | Sequence[str]) -> None:
        """Understand a JSGF grammar, or phrases."""
        super().__init__(
            sample_rate=SAMPLE_HZ,
            ttfs_p99_latency=FINAL_S,
            settings=STTSettings(model="pocketsphinx", language=Language.EN),
        )
        self._grammar = grammar if isinstance(grammar, str) else jsgf(grammar)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="pocketsphinx")
        self._loaded: pocketsphinx.Decoder | None = None
        self._before: deque[bytes] = deque()
        self._before_bytes = 0
        self._hears = False

    def can_generate_metrics(self) -> bool:
        """It can."""
        return True

    @override
    async def setup(self, setup: FrameProcessorSetup) -> None:  # type: ignore[override]
        """Load the model, beside the event loop."""
        await super().setup(setup)
        self._loaded = await self._run(self._load)

    def _load(self) -> "pocketsphinx.Decoder":
        import pocketsphinx  # noqa: PLC0415 - an extra, and half a second

        decoder = pocketsphinx.Decoder(lm=None, dict=None, loglevel="FATAL", **BEAMS)
        for word in sorted(set(_WORD.findall(self._grammar))):
            for name, phones in pronunciations(word):
                decoder.add_word(name, phones, False)
        decoder.add_jsgf_string("phrases", self._grammar)
        decoder.activate_search("phrases")
        return decoder

    @override
    async def stop(self, frame: EndFrame) -> None:
        """Give the decoder back."""
        await super().stop(frame)
        self._thread.shutdown(wait=False)

    @override
    async def cancel(self, frame: CancelFrame) -> None:
        """Give the decoder back."""
        await super().cancel(frame)
        self._thread.shutdown(wait=False)

    @override
    async def run_stt(self, audio: bytes) -> AsyncGenerator[Frame | None, None]:
        """Listen, or keep the last moments in case that speech has begun in them."""
        if self._hears:
            await self._run(self._decoder.process_raw, on_a_floor(audio), False, False)
        else:
            self._before.append(audio)
            self._before_bytes += len(audio)
            while self._before_bytes > BEFORE_S * SAMPLE_HZ * 2:
                self._before_bytes -= len(self._before.popleft())
        yield None

    @override
    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Begin and end with speech."""
        await super().process_frame(frame, direction)
        if isinstance(frame, VADUserStartedSpeakingFrame) and not self._hears:
            self._hears = True
            before = b"".join(self._before)
            self._before.clear()
            self._before_bytes = 0
            await self._run(self._begin, before)
        elif isinstance(frame, VADUserStoppedSpeakingFrame) and self._hears:
            self._hears = False
            await self._understood(await self._run(self._end))

    def _begin(self, before: bytes) -> None:
        self._decoder.start_utt()
        if before:
            self._decoder.process_raw(on_a_floor(before), False, False)

    def _end(self) -> str:
        self._decoder.end_utt()
        found = self._decoder.hyp()
        return found.hypstr if found is not None else ""

    async def _understood(self, text: str) -> None:
        if text:
            frame = TranscriptionFrame(text, "", time_now_iso8601(), Language.EN)
            frame.finalized = True
            await self.push_frame(frame)

    @property
    def _decoder(self) -> "pocketsphinx.Decoder":
        assert self._loaded is not None, "set up before any sound comes"  # noqa: S101
        return self._loaded

    async def _run(self, work: Callable[..., Result], *arguments: object) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)
