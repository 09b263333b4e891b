"""The recording of a call: both sides in one WAV file, the customer left, the assistant right.

Each side has its place by the clock, so that what was said together is heard together. The file is written as the call
goes on, in a thread, and never beyond what the service takes.
"""

import asyncio
import logging
import tempfile
import time
import wave
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from pipecat.frames.frames import Frame, OutputAudioRawFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from ..client import Call, ServiceError
from ..client.recording import BYTES_MAX
from ..legs.resample import Resampler
from ..legs.transport import PIPELINE_HZ

SAMPLE_HZ = 8_000
BLOCK_S = 1.0
"""Sound that is held in memory before it is written, and how late sound may come."""
GAP_S = 0.1
"""Silence that is filled in; what is less is the unevenness of packets."""
_SAMPLE_BYTES = 2
_HEADER_BYTES = 44

_log = logging.getLogger(__name__)


class TwoTracks:
    """The sound of two sides on one clock, handed out in blocks of 16-bit stereo. `now` is in seconds."""

    def __init__(self) -> None:
        self._sides = (bytearray(), bytearray())
        self._resamplers: list[Resampler | None] = [None, None]
        self._taken = 0
        """Samples that were handed out."""

    def add(self, side: int, pcm: bytes, sample_hz: int, now: float) -> None:
        """Add what just came of a side, 0 or 1; `now` counts from the beginning of the recording."""
        resampler = self._resamplers[side]
        if resampler is None or resampler.source_hz != sample_hz:
            resampler = self._resamplers[side] = Resampler(sample_hz, SAMPLE_HZ)
        sound = resampler.process(pcm)
        begins = int(now * SAMPLE_HZ) - len(sound) // _SAMPLE_BYTES - self._taken
        if begins - len(self._sides[side]) // _SAMPLE_BYTES > GAP_S * SAMPLE_HZ:
            self._pad(side, begins)
        self._sides[side].extend(sound)

    def take(self, until: float) -> bytes:
        """Return what was said up to a moment and was not returned yet."""
        count = max(0, int(until * SAMPLE_HZ) - self._taken)
        for side in (0, 1):
            self._pad(side, count)
        size = count * _SAMPLE_BYTES
        parts = [np.frombuffer(bytes(track[:size]), dtype=np.int16) for track in self._sides]
        for track in self._sides:
            del track[:size]
        self._taken += count
        return np.column_stack(parts).tobytes()

    def _pad(self, side: int, samples: int) -> None:
        track = self._sides[side]
        track.extend(bytes(max(0, samples * _SAMPLE_BYTES - len(track))))


class Recording(FrameProcessor):
    """Records the assistant as it passes behind the line, and the customer as `heard`; at most `bytes_max` on the disk.

    There the recording ends.
    """

    def __init__(self, call_id: int, *, bytes_max: int = BYTES_MAX, now: Callable[[], float] = time.monotonic) -> None:
        """Open a file of its own; raises `OSError` where none can be made."""
        super().__init__()
        self._call_id, self._now = call_id, now
        self._room = bytes_max - _HEADER_BYTES
        self._folder = tempfile.TemporaryDirectory(prefix=f"recording-{call_id}-")
        self.file = Path(self._folder.name) / "call.wav"
        # Wave's own close writes the length into the header.
        self._wave = wave.open(str(self.file), "wb")  # noqa: SIM115
        self._wave.setnchannels(2)
        self._wave.setsampwidth(_SAMPLE_BYTES)
        self._wave.setframerate(SAMPLE_HZ)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"recording-{call_id}")
        self._tracks = TwoTracks()
        self._began: float | None = None
        self._ended: float | None = None
        self._written_at = 0.0
        self._written = 0

    def begin(self) -> None:
        """Record from now on: the call was answered."""
        self._began = self._now()

    def end(self) -> None:
        """Record no more: the line is over."""
        if self._began is not None and self._ended is None:
            self._ended = self._now() - self._began

    def heard(self, pcm: bytes) -> None:
        """Take sound of the customer, 16-bit mono at the rate of the pipeline."""
        if self._began is None or self._ended is not None:
            return
        now = self._now() - self._began
        self._tracks.add(0, pcm, PIPELINE_HZ, now)
        if now - self._written_at >= 2 * BLOCK_S:
            self._written_at = now - BLOCK_S
            self._thread.submit(self._write, self._tracks.take(self._written_at))

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Keep sound of the assistant, and pass everything on."""
        await super().process_frame(frame, direction)
        if isinstance(frame, OutputAudioRawFrame) and self._began is not None and self._ended is None:
            self._tracks.add(1, frame.audio, frame.sample_rate, self._now() - self._began)
        await self.push_frame(frame, direction)

    def _write(self, sound: bytes) -> None:
        sound = sound[: self._room]
        try:
            self._wave.writeframesraw(sound)
        except OSError:
            self._room = 0
            _log.exception("call %d: its recording cannot be written any more", self._call_id)
        else:
            self._room -= len(sound)
            self._written += len(sound)

    async def upload(self, call: Call) -> None:
        """Upload what was recorded, and remove it here; a failure is logged."""
        self.end()
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._finish)
            if self._written:
                await call.upload(self.file, "audio/wav")
        except (ServiceError, OSError, ValueError) as error:
            _log.warning("call %d: its recording was not taken: %s", self._call_id, error)
        finally:
            self.discard()

    def _finish(self) -> None:
        if self._ended is not None:
            self._write(self._tracks.take(self._ended))
        self._wave.close()

    def discard(self) -> None:
        """Remove the file."""
        self._thread.shutdown(wait=False)
        self._folder.cleanup()
