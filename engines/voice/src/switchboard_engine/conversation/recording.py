"""The recording of a call: both sides in one WAV file, the customer left, the assistant right.

Pipecat aligns the two sides; here they are written as they come, in a thread, and never beyond what the service takes.
"""

import asyncio
import logging
import tempfile
import wave
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pipecat.processors.audio.audio_buffer_processor import AudioBufferProcessor

from ..client import Call, ServiceError
from ..client.recording import BYTES_MAX

SAMPLE_HZ = 8_000
BLOCK_BYTES = SAMPLE_HZ * 2 * 5
"""Sound of one side that is held in memory: five seconds."""
_HEADER_BYTES = 44

_log = logging.getLogger(__name__)


class Recording:
    """Records while a conversation runs; at most `bytes_max` on the disk, which is also the end of the recording."""

    def __init__(self, call_id: int, *, bytes_max: int = BYTES_MAX, folder: Path | None = None) -> None:
        """Record into a file of its own; raises `OSError` where none can be made."""
        self.tap = AudioBufferProcessor(sample_rate=SAMPLE_HZ, num_channels=2, buffer_size=BLOCK_BYTES)
        self.tap.add_event_handler("on_audio_data", self._heard)
        self._room = bytes_max - _HEADER_BYTES
        self._call_id = call_id
        self._folder = tempfile.TemporaryDirectory(prefix=f"recording-{call_id}-", dir=folder)
        self.file = Path(self._folder.name) / "call.wav"
        # Wave's own close writes the length into the header.
        self._wave = wave.open(str(self.file), "wb")  # noqa: SIM115
        self._wave.setnchannels(2)
        self._wave.setsampwidth(2)
        self._wave.setframerate(SAMPLE_HZ)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"recording-{call_id}")
        self._written = 0

    async def start(self) -> None:
        """Begin: the call was answered."""
        await self.tap.start_recording()  # type: ignore[no-untyped-call]

    async def _heard(self, _: AudioBufferProcessor, audio: bytes, _hz: int, _channels: int) -> None:
        audio = audio[: self._room]
        self._room -= len(audio)
        if audio:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._write, audio)

    def _write(self, audio: bytes) -> None:
        try:
            self._wave.writeframesraw(audio)
            self._written += len(audio)
        except OSError:
            self._room = 0
            _log.exception("call %d: its recording cannot be written any more", self._call_id)

    async def upload(self, call: Call) -> None:
        """Upload what was recorded, and remove it here; a failure is logged."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._wave.close)
            if self._written:
                await call.upload(self.file, "audio/wav")
        except (ServiceError, OSError, ValueError) as error:
            _log.warning("call %d: its recording was not taken: %s", self._call_id, error)
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the file."""
        self._thread.shutdown(wait=False)
        self._folder.cleanup()
