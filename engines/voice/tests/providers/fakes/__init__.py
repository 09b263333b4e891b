"""Fakes of the vendors' dialects, by their documentation: they prove what we ask, and answer well or badly."""

from .cartesia import FakeCartesia
from .deepgram import FakeDeepgram
from .elevenlabs import FakeElevenLabs
from .hearing import FakeAssemblyAI, FakeGladia, FakeSoniox
from .models import FakeAnthropic, FakeGemini
from .openai import FakeOpenAI
from .realtime import FakeRealtime
from .server import Behaviour, FakeVendor

__all__ = [
    "Behaviour",
    "FakeAnthropic",
    "FakeAssemblyAI",
    "FakeCartesia",
    "FakeDeepgram",
    "FakeElevenLabs",
    "FakeGemini",
    "FakeGladia",
    "FakeOpenAI",
    "FakeRealtime",
    "FakeSoniox",
    "FakeVendor",
]
