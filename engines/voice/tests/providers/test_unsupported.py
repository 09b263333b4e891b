"""What a vendor cannot do of an assistant's settings is named; what is at its default is not."""

from typing import Any

import pytest

from switchboard_engine.providers import ProviderServices

from .catalogue import entries, entry


def pipeline(stt: str, llm: str, tts: str, **settings: Any) -> dict[str, Any]:
    provider = entry("synthesizer_providers", tts)
    voice = next(one for one in entries("voices") if one.get("synthesizer_provider_id") == provider["id"])
    return {
        "mode": "pipeline",
        "transcriber_provider": entry("transcriber_providers", stt),
        "llm_model": entry("llm_models", llm),
        "synthesizer_provider": provider,
        "voice": voice,
        **settings,
    }


def realtime(model: str, mode: str = "multimodal", **settings: Any) -> dict[str, Any]:
    vendor = entry("multimodal_models", model)["engine"]["vendor"]
    own = [one for one in entries("voices") if one["engine"]["vendor"] == vendor and one.get("modes") == ["multimodal"]]
    return {
        "mode": mode,
        "multimodal_model": entry("multimodal_models", model),
        "voice": own[0] if own else entry("voices", "elevenlabs-rachel"),
        **settings,
    }


CHANGED: dict[str, Any] = {
    "speech_speed": "1.10",
    "voice_stability": "0.30",
    "voice_similarity": "0.90",
    "tts_emotion_enabled": False,
    "llm_temperature": "0.70",
    "secondary_languages": entries("languages")[4:5],
}
USUAL: dict[str, Any] = {
    "speech_speed": "1.00",
    "voice_stability": "0.70",
    "voice_similarity": "0.50",
    "tts_emotion_enabled": True,
    "llm_temperature": "0.10",
    "secondary_languages": [],
    "turn_detection_threshold": None,
}
VOICE = ["voice_similarity", "voice_stability"]
CASES = [
    (pipeline("deepgram", "gpt-4.1", "elevenlabs", **USUAL), []),
    (pipeline("azure-speech", "gpt-5", "azure-speech", **USUAL), []),
    (pipeline("deepgram", "gpt-4.1", "elevenlabs", **CHANGED), []),
    (pipeline("deepgram", "gpt-4.1", "cartesia", **CHANGED), VOICE),
    (pipeline("deepgram", "gpt-4.1", "deepgram-aura", **CHANGED), ["tts_emotion_enabled", *VOICE]),
    (pipeline("deepgram", "gpt-4.1", "openai-tts", **CHANGED), ["speech_speed", *VOICE]),
    (
        pipeline("azure-speech", "gpt-5", "amazon-polly", **CHANGED),
        ["llm_temperature", "secondary_language_ids", "tts_emotion_enabled", *VOICE],
    ),
    (
        pipeline("deepgram", "gpt-4.1", "cartesia", voice=entry("voices", "elevenlabs-rachel")),
        ["synthesizer_provider_id"],
    ),
    (realtime("gpt-realtime", **USUAL), []),
    (
        realtime("gpt-realtime", turn_detection_threshold=0.6, **CHANGED),
        ["llm_temperature", "tts_emotion_enabled", *VOICE],
    ),
    (
        realtime("gemini-2-5-flash-live", turn_detection_threshold=0.6, **CHANGED),
        ["speech_speed", "tts_emotion_enabled", *VOICE],
    ),
    (realtime("nova-sonic", turn_detection_threshold=0.6), ["turn_detection_threshold"]),
    (realtime("ultravox-v0-7"), ["voice_id"]),
    (
        realtime("gpt-realtime", "dualplex", **CHANGED)
        | {"synthesizer_provider": entry("synthesizer_providers", "elevenlabs")}
        | {"voice": entry("voices", "elevenlabs-rachel")},
        ["llm_temperature"],
    ),
]


@pytest.mark.parametrize(("assistant", "names"), CASES)
def test_what_is_not_supported_is_named(assistant: dict[str, Any], names: list[str], keys: dict[str, str]) -> None:
    assert ProviderServices(keys).unsupported(assistant) == sorted(names)
