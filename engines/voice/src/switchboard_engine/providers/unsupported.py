"""Which settings of an assistant its vendors cannot do, so that the call can say so."""

from collections.abc import Mapping
from typing import Any

from .entry import Entry, Json
from .llm import LlmRequest
from .realtime import TEMPERATURE, THRESHOLD, realtime_vendor
from .stt import stt_vendor
from .tts import TtsRequest, tts_vendor, voice_entry
from .voice_options import VoiceOptions, number

_USUAL_TEMPERATURE = 0.10


def unsupported(assistant: Json) -> list[str]:
    """Return the names of the settings of a claimed assistant that are not at their defaults and have no effect.

    Raises `ProviderError` for an assistant whose services cannot be made.
    """
    if assistant.get("mode") == "pipeline":
        names = _of_hearing(assistant) | _of_model(assistant) | _of_speaking(assistant)
    else:
        names = _of_realtime(assistant)
        names |= _of_speaking(assistant) if assistant.get("mode") == "dualplex" else _of_own_voice(assistant)
    return sorted(names)


def _of_hearing(assistant: Json) -> set[str]:
    vendor = stt_vendor(Entry.read(assistant.get("transcriber_provider"), "transcriber"))
    several = bool(assistant.get("secondary_languages"))
    return {"secondary_language_ids"} if several and not vendor.hears_several else set()


def _of_model(assistant: Json) -> set[str]:
    ask = LlmRequest(Entry.read(assistant.get("llm_model"), "language model"), None)
    return set() if ask.takes_temperature else _temperature(assistant)


def _of_speaking(assistant: Json) -> set[str]:
    provider = Entry.read(assistant.get("synthesizer_provider"), "synthesizer")
    voice = Entry.read(assistant.get("voice"), "voice")
    ask = TtsRequest(voice_entry(provider, voice), "", VoiceOptions.read(assistant))
    names = set(ask.options.changed - tts_vendor(ask.entry).can(ask))
    return names | ({"synthesizer_provider_id"} if provider.vendor != voice.vendor else set())


def _of_realtime(assistant: Json) -> set[str]:
    vendor = realtime_vendor(Entry.read(assistant.get("multimodal_model"), "multimodal model"))
    changed = _temperature(assistant)
    if assistant.get(THRESHOLD) is not None:
        changed.add(THRESHOLD)
    return changed - vendor.can


def _of_own_voice(assistant: Json) -> set[str]:
    model = Entry.read(assistant.get("multimodal_model"), "multimodal model")
    names = set(VoiceOptions.read(assistant).changed - realtime_vendor(model).can)
    return names | (set() if own_voice(model, assistant.get("voice")) else {"voice_id"})


def own_voice(model: Entry, voice: Json | None) -> str | None:
    """Return the id of a voice that the model itself has; null for that of another vendor."""
    engine: Mapping[str, Any] = (voice or {}).get("engine") or {}
    return engine.get("voice_id") if engine.get("vendor") == model.vendor else None


def _temperature(assistant: Json) -> set[str]:
    usual = number(assistant, TEMPERATURE, _USUAL_TEMPERATURE) == _USUAL_TEMPERATURE
    return set() if usual else {TEMPERATURE}
