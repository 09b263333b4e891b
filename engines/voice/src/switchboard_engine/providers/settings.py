"""What the operator sets for all calls of an engine: the substitutes of each kind, and how long services may take."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from ..services import ProviderError
from . import accounts
from .accounts import Account, Kind
from .entry import Entry
from .failover import Patience
from .llm import llm_vendor
from .stt import stt_vendor
from .tts import tts_vendor

FALLBACK = "SWITCHBOARD_ENGINE_FALLBACK_"
TIMEOUT = "SWITCHBOARD_ENGINE_TIMEOUT_"
FALLBACKS_MAX = 8
_CONNECT_S = 5.0
_TIMEOUTS_S = {Kind.STT: 4.0, Kind.TTS: 4.0, Kind.LLM: 8.0, Kind.REALTIME: 8.0}
_TIMEOUT_MAX_S = 120.0
_ACCOUNTS: Mapping[Kind, Callable[[Entry], Account]] = {
    Kind.STT: lambda entry: stt_vendor(entry).account,
    Kind.TTS: lambda entry: tts_vendor(entry).account,
    Kind.LLM: lambda entry: llm_vendor(entry).account,
}
_WITHOUT_MODEL = {(Kind.STT, "azure"), (Kind.STT, "speechmatics"), (Kind.TTS, "azure"), (Kind.TTS, "google")}
"""Vendors that are asked for no model."""
_EXAMPLES = {
    Kind.STT: "deepgram/nova-3",
    Kind.TTS: "deepgram/aura-2@aura-2-thalia-en",
    Kind.LLM: "openai/gpt-4.1-mini",
}


@dataclass(frozen=True, slots=True)
class ProviderSettings:
    """Substitutes and patience, by kind."""

    fallbacks: Mapping[Kind, tuple[Entry, ...]]
    patience: Mapping[Kind, Patience]

    @classmethod
    def read(cls, environment: Mapping[str, str]) -> Self:
        """Read them from the environment; raises `ProviderError` for wrong ones, and for substitutes without a key."""
        connect_s = _seconds(environment, "CONNECT", _CONNECT_S)
        return cls(
            {kind: _fallbacks(kind, environment) for kind in _ACCOUNTS},
            {
                kind: Patience(_seconds(environment, kind, usual), connect_s=connect_s)
                for kind, usual in _TIMEOUTS_S.items()
            },
        )


def _fallbacks(kind: Kind, environment: Mapping[str, str]) -> tuple[Entry, ...]:
    texts = [text.strip() for text in environment.get(FALLBACK + kind, "").split(",")]
    entries = tuple(_fallback(kind, text) for text in texts if text)
    if len(entries) > FALLBACKS_MAX:
        raise ProviderError(f"{FALLBACK}{kind} names {len(entries)} services; it may name {FALLBACKS_MAX}.")
    for entry in entries:
        accounts.access(_ACCOUNTS[kind](entry), kind, entry.engine, environment)
    return entries


def _fallback(kind: Kind, text: str) -> Entry:
    """Read `vendor/model`, of a synthesizer `vendor/model@voice`."""
    name, _, voice = text.partition("@")
    vendor, _, model = name.partition("/")
    form = "vendor/model@voice" if kind is Kind.TTS else "vendor/model"
    lacks_model = not model and (kind, vendor) not in _WITHOUT_MODEL
    if not vendor or lacks_model or bool(voice) != (kind is Kind.TTS):
        raise ProviderError(f"{FALLBACK}{kind} has {text!r}, which is not {form}, such as {_EXAMPLES[kind]}.")
    engine = {"vendor": vendor, "model": model or None, "voice_id": voice or None}
    return Entry(f"substitute {text}", {member: value for member, value in engine.items() if value})


def _seconds(environment: Mapping[str, str], name: str, usual: float) -> float:
    text = environment.get(TIMEOUT + name)
    if not text:
        return usual
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _TIMEOUT_MAX_S:
        raise ProviderError(f"{TIMEOUT}{name} is {text!r}; it must be seconds above 0, at most {_TIMEOUT_MAX_S:g}.")
    return seconds
