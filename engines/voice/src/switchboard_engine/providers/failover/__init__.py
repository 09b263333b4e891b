"""Fail-over between services of one kind."""

from .candidate import ATTEMPTS, Candidate, Patience
from .llm import LlmFailover
from .outages import REST_S, Outages
from .realtime import RealtimeFailover
from .stt import SttFailover
from .tts import TtsFailover

__all__ = [
    "ATTEMPTS",
    "REST_S",
    "Candidate",
    "LlmFailover",
    "Outages",
    "Patience",
    "RealtimeFailover",
    "SttFailover",
    "TtsFailover",
]
