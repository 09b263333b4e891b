"""Fail-over between services of one kind."""

from .candidate import ATTEMPTS, Candidate, Patience
from .llm import LlmFailover
from .realtime import RealtimeFailover
from .stt import SttFailover
from .tts import TtsFailover

__all__ = ["ATTEMPTS", "Candidate", "LlmFailover", "Patience", "RealtimeFailover", "SttFailover", "TtsFailover"]
