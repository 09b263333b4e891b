"""Speaking to a person who takes a call over, on a line of their own."""

import asyncio

from pipecat.frames.frames import TTSSpeakFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.workers.runner import WorkerRunner

from ..client.events import Event
from ..legs import Line
from .pipeline import PIPELINE_HZ
from .speech import Speech
from .transcript import TranscriptLines

STOP_S = 3.0


async def brief(line: Line, text: str, tts: FrameProcessor) -> None:
    """Say a text to an answered line with a voice of its own; returns once it was said, and leaves the line up."""
    if not text:
        return
    speech = Speech(TranscriptLines(_nothing, language="en"))
    worker = PipelineWorker(
        Pipeline([line.transport.input(), tts, line.transport.output(), speech]),
        params=PipelineParams(audio_in_sample_rate=PIPELINE_HZ, audio_out_sample_rate=PIPELINE_HZ),
        cancel_on_idle_timeout=False,
        cancel_timeout_secs=STOP_S,
        enable_rtvi=False,
        enable_turn_tracking=False,
    )
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(worker)
    running = asyncio.create_task(runner.run())
    mark = speech.mark()
    try:
        await worker.queue_frames([TTSSpeakFrame(text), mark])
        said = asyncio.create_task(mark.reached.wait())
        await asyncio.wait({said, running}, return_when=asyncio.FIRST_COMPLETED)
        said.cancel()
    finally:
        await worker.cancel()
        await asyncio.wait({running}, timeout=STOP_S)
        running.cancel()


async def _nothing(_: Event) -> None:
    """What the person hears is not of the customer's transcript."""
