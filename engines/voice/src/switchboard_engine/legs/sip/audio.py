"""A call's audio between the stack and the pipeline: rates, and output at the pace of the telephone.

The stack sends a packet each 20 ms by its own clock, of what is queued or of silence. What is queued can no longer be
taken back within 20 ms: so at most 40 ms are queued at a time, and an interruption empties even that.
"""

import asyncio

from baresip import AudioNotActive, AudioRestarted, CallAudio

from ..resample import Resampler
from ..transport import FRAME_MS, PIPELINE_HZ

QUEUED_MS_MAX = 40
STALLED_S = 0.2  # the stack takes nothing any more: the line is on hold
_READ_BYTES = 64 * 1024


class SipAudio:
    """The `LineAudio` of a SIP call."""

    def __init__(self, audio: CallAudio) -> None:
        """Wrap the stack's buffers; nothing flows before `open`."""
        self._audio = audio
        self._opened = asyncio.Event()
        self._closed = False
        self._received: Resampler | None = None
        self._sent: Resampler | None = None
        self._flushes = 0
        self._held = False

    def open(self) -> None:
        """Let audio flow: the line was answered."""
        self.read()  # what came before the answer is ringing tone
        self._opened.set()

    def close(self) -> None:
        """Let waiting writes return: the line is over."""
        self._closed = True
        self._opened.set()

    def hold(self, *, on: bool) -> None:
        """Send silence in place of what is written, which passes at the pace of its sound; or no longer."""
        self._held = on
        if on:
            self.flush()

    @property
    def flows(self) -> bool:
        """Whether the line is answered and not over."""
        return self._opened.is_set() and not self._closed

    def read(self) -> bytes:
        """Take what was received since the last call, 16-bit mono at `PIPELINE_HZ`; empty when nothing was."""
        try:
            info = self._audio.info()
            pcm = self._audio.read(_READ_BYTES)
        except (AudioNotActive, AudioRestarted):
            return b""
        if not info.rx_sample_rate or not pcm:
            return b""
        if self._received is None or self._received.source_hz != info.rx_sample_rate:
            self._received = Resampler(info.rx_sample_rate, PIPELINE_HZ)
        return self._received.process(pcm)

    async def write(self, pcm: bytes, sample_hz: int) -> bool:
        """Send 16-bit mono audio; returns when less than `QUEUED_MS_MAX` is left to send, False on a line that is over.

        Before the answer it waits for it. While the line is on hold the audio is dropped at the pace of its sound.
        """
        await self._opened.wait()
        try:
            rate = self._audio.info().tx_sample_rate if not self._closed else 0
        except AudioNotActive:
            rate = 0
        if self._closed:
            return False
        if not rate or self._held:
            await asyncio.sleep(len(pcm) / 2 / sample_hz)
            return True
        if self._sent is None or (self._sent.source_hz, self._sent.target_hz) != (sample_hz, rate):
            self._sent = Resampler(sample_hz, rate)
        wire = self._sent.process(pcm)
        frame_bytes = rate * FRAME_MS // 1000 * 2
        flushes = self._flushes
        for start in range(0, len(wire), frame_bytes):
            if self._flushes == flushes:
                await self._send(wire[start : start + frame_bytes], rate)
        return not self._closed

    async def _send(self, frame: bytes, rate: int) -> None:
        frame_ms = len(frame) * 500 // rate
        waited_s, flushes = 0.0, self._flushes
        while not self._closed and self._flushes == flushes:
            if waited_s >= STALLED_S:
                self.flush()
                return
            try:
                excess_ms = self._audio.info().tx_buffered * 500 / rate + frame_ms - QUEUED_MS_MAX
                if excess_ms <= 0:
                    self._audio.write(frame)
                    return
            except (AudioNotActive, AudioRestarted):
                excess_ms = FRAME_MS
            pause_s = min(max(excess_ms, 2), FRAME_MS) / 1000
            await asyncio.sleep(pause_s)
            waited_s += pause_s

    async def drain(self) -> None:
        """Wait until what is queued was sent, `QUEUED_MS_MAX` at most."""
        await asyncio.sleep(QUEUED_MS_MAX / 1000)

    def flush(self) -> None:
        """Drop what is queued or waits in `write`: a customer who interrupts hears nothing from the next packet on."""
        self._flushes += 1
        if self._sent is not None:
            self._sent.reset()
        try:
            self._audio.flush_tx()
        except (AudioNotActive, AudioRestarted):
            return
