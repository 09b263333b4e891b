"""The two ends of a Pipecat pipeline on a line of any leg that carries telephone audio."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from pipecat.audio.dtmf.types import KeypadEntry
from pipecat.frames.frames import (
    CancelFrame,
    EndFrame,
    Frame,
    InputAudioRawFrame,
    InputDTMFFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    OutputDTMFFrame,
    OutputDTMFUrgentFrame,
    StartFrame,
)
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.transports.base_input import BaseInputTransport
from pipecat.transports.base_output import BaseOutputTransport
from pipecat.transports.base_transport import BaseTransport, TransportParams

from .resample import Resampler

PIPELINE_HZ = 16_000  # what voice activity and turn models are made for
FRAME_MS = 20
READ_EVERY_S = FRAME_MS / 2 / 1000

SendDtmf = Callable[[str], Awaitable[None]]


class LineAudio(Protocol):
    """A line's sound, 16-bit mono, usable before the answer and after the end."""

    @property
    def flows(self) -> bool:
        """Whether the line is answered and not over."""

    def read(self) -> bytes:
        """Take what was received since the last call, at `PIPELINE_HZ`; empty when nothing was."""

    async def write(self, pcm: bytes, sample_hz: int) -> bool:
        """Send at the pace of the sound, so that hardly more is on its way than is heard; False on a line that is over.

        Before the answer it waits for it.
        """

    async def drain(self) -> None:
        """Wait until what was written has been heard, or the line is over."""

    def flush(self) -> None:
        """Drop what was written and not heard yet."""


def parameters() -> TransportParams:
    """Return Pipecat's settings of a telephone line.

    The output's rate is left to the pipeline: the leg converts it, and a synthesizer keeps its own.
    """
    return TransportParams(
        audio_in_enabled=True,
        audio_in_sample_rate=PIPELINE_HZ,
        audio_out_enabled=True,
        audio_out_10ms_chunks=FRAME_MS // 10,
        audio_out_end_silence_secs=0,
    )


class LineInput(BaseInputTransport):
    """Pushes what the customer says, at 16 kHz, and the keys that they press."""

    def __init__(self, audio: LineAudio, params: TransportParams) -> None:
        """Read from a line's audio."""
        super().__init__(params)
        self._audio = audio
        self._reader: asyncio.Task[None] | None = None

    async def start(self, frame: StartFrame) -> None:
        """Start reading."""
        await super().start(frame)
        await self.set_transport_ready(frame)
        if self._reader is None:
            self._reader = self.create_task(self._read())

    async def stop(self, frame: EndFrame) -> None:
        """Stop reading."""
        await self._end()
        await super().stop(frame)

    async def cancel(self, frame: CancelFrame) -> None:
        """Stop reading at once."""
        await self._end()
        await super().cancel(frame)

    async def cleanup(self) -> None:
        """Stop reading, also where the pipeline never came to its end."""
        await self._end()
        await super().cleanup()  # type: ignore[no-untyped-call]

    async def pressed(self, digit: str) -> None:
        """Tell the pipeline of a key."""
        if self._reader is not None:
            await self.push_frame(InputDTMFFrame(button=KeypadEntry(digit)))

    async def _end(self) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            await self.cancel_task(reader)

    async def _read(self) -> None:
        while True:
            pcm = self._audio.read() if self._audio.flows else b""
            if pcm:
                await self.push_audio_frame(InputAudioRawFrame(audio=pcm, sample_rate=PIPELINE_HZ, num_channels=1))
            await asyncio.sleep(READ_EVERY_S)


class LineOutput(BaseOutputTransport):
    """Sends what the assistant says, at the pace of the telephone, so that Pipecat knows what was heard."""

    def __init__(self, audio: LineAudio, send_dtmf: SendDtmf, params: TransportParams) -> None:
        """Write to a line's audio."""
        super().__init__(params)
        self._audio = audio
        self._send_dtmf = send_dtmf
        self._resampler: Resampler | None = None

    async def start(self, frame: StartFrame) -> None:
        """Take audio from now on."""
        await super().start(frame)
        await self.set_transport_ready(frame)

    async def stop(self, frame: EndFrame) -> None:
        """Say everything to its end."""
        await super().stop(frame)
        await self._audio.drain()

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Convert audio before Pipecat does, which would hold it back; fall silent on an interruption."""
        if isinstance(frame, OutputAudioRawFrame) and frame.num_channels == 1 and frame.sample_rate != self.sample_rate:
            if self._resampler is None or self._resampler.source_hz != frame.sample_rate:
                self._resampler = Resampler(frame.sample_rate, self.sample_rate)
            frame.audio = self._resampler.process(frame.audio)
            frame.sample_rate = self.sample_rate
        if isinstance(frame, InterruptionFrame):
            self._audio.flush()
            if self._resampler is not None:
                self._resampler.reset()
        await super().process_frame(frame, direction)

    async def write_audio_frame(self, frame: OutputAudioRawFrame) -> bool:
        """Send a frame; see `LineAudio.write`."""
        return await self._audio.write(frame.audio, frame.sample_rate)

    def _supports_native_dtmf(self) -> bool:
        return True

    async def _write_dtmf_native(self, frame: OutputDTMFFrame | OutputDTMFUrgentFrame) -> None:
        await self._send_dtmf("".join(button.value for button in frame.buttons or ()))


class LineTransport(BaseTransport):
    """A line's ends of the pipeline."""

    def __init__(self, audio: LineAudio, send_dtmf: SendDtmf) -> None:
        """Make both ends; a line is used by one pipeline."""
        super().__init__()
        self._params = parameters()
        self._input = LineInput(audio, self._params)
        self._output = LineOutput(audio, send_dtmf, self._params)

    def input(self) -> FrameProcessor:
        """The customer's side."""
        return self._input

    def output(self) -> FrameProcessor:
        """The assistant's side."""
        return self._output

    async def pressed(self, digit: str) -> None:
        """Tell the pipeline of a key."""
        await self._input.pressed(digit)
