"""Text-to-speech by the program espeak-ng."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import AsyncGenerator

from pipecat.frames.frames import ErrorFrame, Frame, TTSAudioRawFrame
from pipecat.processors.frame_processor import FrameProcessorSetup
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TTSService
from typing_extensions import override

PROGRAM_VARIABLE = "SWITCHBOARD_ENGINE_ESPEAK"
WORDS_A_MINUTE = 165
SYNTHESIS_S = 10.0
_HEADER_BYTES = 44
_SAMPLE_HZ = 22_050
_CHUNK_BYTES = 4_410


def program() -> str | None:
    """Return the path of espeak-ng: that of the environment, or where the shell finds it; None where there is none."""
    return os.environ.get(PROGRAM_VARIABLE) or shutil.which("espeak-ng")


class EspeakTTSService(TTSService):
    """Speaks sentence by sentence; one takes 15 to 60 ms."""

    def __init__(self, voice: str, *, speed: float = 1.0) -> None:
        """Speak with a voice of espeak-ng, such as `en-gb`; `speed` 1 is normal."""
        settings = TTSSettings(model="espeak-ng", voice=voice, language=None)
        super().__init__(push_start_frame=True, push_stop_frames=True, settings=settings)
        self._words_a_minute = round(WORDS_A_MINUTE * speed)
        self._spare: asyncio.Task[asyncio.subprocess.Process] | None = None

    def can_generate_metrics(self) -> bool:
        """It can."""
        return True

    @override
    async def setup(self, setup: FrameProcessorSetup) -> None:  # type: ignore[override]
        """Begin to run the program for the first sentence."""
        await super().setup(setup)
        self._spare = self.create_task(self._run())

    @override
    async def cleanup(self) -> None:
        """End the program that waits."""
        await super().cleanup()  # type: ignore[no-untyped-call]
        waiting, self._spare = self._spare, None
        if waiting is not None:
            with contextlib.suppress(OSError):
                await _end(await waiting)

    @override
    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame, None]:
        """Yield the sound of a text, or an error."""
        try:
            await self.start_tts_usage_metrics(text)
            wave = await self._synthesize(text)
            await self.stop_ttfb_metrics()
            for at in range(_HEADER_BYTES, len(wave), _CHUNK_BYTES):
                yield TTSAudioRawFrame(wave[at : at + _CHUNK_BYTES], _SAMPLE_HZ, 1, context_id=context_id)
        except (OSError, TimeoutError) as error:
            yield ErrorFrame(error=f"espeak-ng failed: {error!r}")

    async def _run(self) -> asyncio.subprocess.Process:
        """Start the program; it waits for a text."""
        command = [program() or "espeak-ng", "-v", str(self._settings.voice), "-s", str(self._words_a_minute)]
        pipe = asyncio.subprocess.PIPE
        return await asyncio.create_subprocess_exec(*command, "--stdout", stdin=pipe, stdout=pipe, stderr=pipe)

    async def _synthesize(self, text: str) -> bytes:
        process = await (self._spare or self._run())
        # Starting it takes longer than speaking: the one for the next sentence waits already.
        self._spare = self.create_task(self._run())
        try:
            wave, errors = await asyncio.wait_for(process.communicate(text.encode()), SYNTHESIS_S)
        finally:
            await _end(process)
        if process.returncode or len(wave) <= _HEADER_BYTES:
            raise OSError(errors.decode(errors="replace").strip()[-200:] or "no sound came")
        return wave


async def _end(process: asyncio.subprocess.Process) -> None:
    """End a program that may have ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
