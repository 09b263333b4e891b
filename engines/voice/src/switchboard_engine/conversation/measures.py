"""What a call measured: where the time of each turn went, and what was used."""

from collections import defaultdict
from typing import Any

from pipecat.frames.frames import MetricsFrame
from pipecat.metrics.metrics import LLMUsageMetricsData, STTUsageMetricsData, TTSUsageMetricsData
from pipecat.observers.base_observer import BaseObserver, FramePushed
from pipecat.observers.user_bot_latency_observer import LatencyBreakdown, MeasuredFrom, UserBotLatencyObserver

from ..client.events import Metrics, Usage
from .transcript import Report, TranscriptLines

# Pipecat's names of the parts of a turn, as the service sums them.
_STAGES = {
    "endpointing_wait": "endpoint_ms",
    "turn_detection": "endpoint_ms",
    "transcription": "stt_ms",
    "first_request": "endpoint_ms",
    "llm_inference": "llm_ms",
    "llm_tool_call": "llm_ms",
    "turn_completion": "llm_ms",
    "sentence_aggregation": "llm_ms",
    "awaiting_speakable_text": "llm_ms",
    "function_handler": "tool_ms",
    "speech_synthesis": "tts_ms",
    "output_transport": "transport_ms",
}


def metrics_of(breakdown: LatencyBreakdown, turn: int) -> Metrics:
    """Return the event of a turn that took as long as the breakdown says."""
    stages: dict[str, float] = defaultdict(float)
    for part in breakdown.contributions:
        stage = _STAGES.get(part.key)
        if stage is not None:
            stages[stage] += 1000 * part.duration_secs
    total_ms = round(1000 * breakdown.total_secs)
    rounded: Any = {name: round(value) for name, value in stages.items()}
    return Metrics(turn=turn, total_ms=total_ms, **rounded)


class TurnMeasures(UserBotLatencyObserver):
    """Reports `metrics` of each answer that a turn of the customer led to."""

    def __init__(self, lines: TranscriptLines, report: Report) -> None:
        """Report to the call."""
        super().__init__()
        self._lines = lines
        self._report_event = report
        self.add_event_handler("on_latency_breakdown", self._measured)

    async def _measured(self, _: UserBotLatencyObserver, breakdown: LatencyBreakdown) -> None:
        if breakdown.measured_from is MeasuredFrom.USER_SILENCE and breakdown.contributions:
            await self._report_event(metrics_of(breakdown, self._lines.turn))


class UsageCount(BaseObserver):
    """Counts what the services report that they used."""

    def __init__(self) -> None:
        """Begin at nothing."""
        super().__init__(observe_every_push=False)
        self.stt_seconds = 0.0
        self.tts_characters = 0
        self.tokens_in = 0
        self.tokens_out = 0

    async def on_push_frame(self, data: FramePushed) -> None:
        """Add a report."""
        if not isinstance(data.frame, MetricsFrame):
            return
        for item in data.frame.data:
            if isinstance(item, STTUsageMetricsData):
                self.stt_seconds += item.value.audio_seconds
            elif isinstance(item, TTSUsageMetricsData):
                self.tts_characters += item.value
            elif isinstance(item, LLMUsageMetricsData):
                self.tokens_in += item.value.prompt_tokens
                self.tokens_out += item.value.completion_tokens

    def event(self, carrier_seconds: float) -> Usage:
        """Return all of it."""
        return Usage(
            stt_seconds=round(self.stt_seconds, 1),
            tts_characters=self.tts_characters,
            llm_tokens_in=self.tokens_in,
            llm_tokens_out=self.tokens_out,
            carrier_seconds=round(carrier_seconds, 1),
        )
