"""The services of a worker: what makes Pipecat's services from the entries of claimed assistants."""

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pipecat.processors.frame_processor import FrameProcessor

from ..services import ProviderError, Services
from .accounts import Kind
from .entry import Entry, Json
from .failover import Candidate, LlmFailover, Outages, RealtimeFailover, SttFailover, TtsFailover
from .llm import LlmRequest, build_llm
from .realtime import RealtimeRequest, build_realtime
from .settings import ProviderSettings
from .stt import SttRequest, build_stt
from .tts import TtsRequest, build_tts, voice_entry
from .unsupported import own_voice, unsupported
from .voice_options import VoiceOptions


class ProviderServices:
    """Makes a call's services. All methods raise `ProviderError` with a sentence where a service cannot be made."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Read the operator's settings from the environment, which has the keys too."""
        # At DEBUG it logs the headers of requests, in which the keys are.
        logging.getLogger("websockets.client").setLevel(logging.INFO)
        self._environment = environment
        self._settings = ProviderSettings.read(environment)
        self._outages = Outages()

    def stt(self, entry: Json | None, *, languages: Sequence[str]) -> SttFailover:
        """Return speech recognition for a `transcriber_provider`.

        `languages` are BCP 47 tags: the assistant's first, then those that it may switch to.
        """
        if not languages:
            raise ProviderError("The assistant has no language.")
        entries = self._with_fallbacks(Kind.STT, Entry.read(entry, "transcriber"))
        candidates = _each(lambda one: build_stt(SttRequest(one, languages), self._environment), entries)
        return SttFailover(candidates, self._settings.patience[Kind.STT], self._outages)

    def tts(
        self, provider: Json | None, voice: Json | None, *, language: str, options: Mapping[str, Any]
    ) -> TtsFailover:
        """Return speech for a `synthesizer_provider` and a `voice`.

        `options` is the assistant, or what it says of its voice.
        """
        spoken = voice_entry(Entry.read(provider, "synthesizer"), Entry.read(voice, "voice"))
        settings = VoiceOptions.read(options)
        entries = self._with_fallbacks(Kind.TTS, spoken)
        candidates = _each(lambda one: build_tts(TtsRequest(one, language, settings), self._environment), entries)
        return TtsFailover(candidates, self._settings.patience[Kind.TTS], self._outages)

    def llm(self, entry: Json | None, *, temperature: float | None = None, prompt: str | None = None) -> LlmFailover:
        """Return the language model of an `llm_model`.

        `prompt` is its system instruction, if the conversation does not set that otherwise.
        """
        entries = self._with_fallbacks(Kind.LLM, Entry.read(entry, "language model"))
        candidates = _each(lambda one: build_llm(LlmRequest(one, temperature, prompt), self._environment), entries)
        return LlmFailover(candidates, self._settings.patience[Kind.LLM], self._outages)

    def realtime(
        self,
        entry: Json | None,
        *,
        voice: Json | None,
        language: str,
        options: Mapping[str, Any],
        prompt: str | None = None,
    ) -> RealtimeFailover:
        """Return the realtime model of a `multimodal_model`.

        `options` is the assistant: with its `mode` `dualplex` the model writes, and `tts` speaks; else it speaks, in
        the voice if that is its own. `prompt` is its system instruction, if the conversation does not set that
        otherwise; Ultravox, which is told once, else takes the assistant's, and its `functions`.
        """
        model = Entry.read(entry, "multimodal model")
        ask = RealtimeRequest(model, own_voice(model, voice), language, options, prompt)
        candidates = _each(lambda _: build_realtime(ask, self._environment), [model])
        return RealtimeFailover(candidates, self._settings.patience[Kind.REALTIME], self._outages)

    def unsupported(self, assistant: Json) -> list[str]:
        """Return the names of the assistant's settings that its vendors cannot do."""
        return unsupported(assistant)

    def _with_fallbacks(self, kind: Kind, first: Entry) -> list[Entry]:
        entries: list[Entry] = []
        for entry in (first, *self._settings.fallbacks[kind]):
            if all(_names(entry) != _names(other) for other in entries):
                entries.append(entry)
        return entries


def services() -> Services:
    """Return a worker's services, by its environment; raises `ProviderError` for wrong settings."""
    return ProviderServices(os.environ)


def _names(entry: Entry) -> tuple[Any, ...]:
    return tuple(entry.engine.get(member) for member in ("vendor", "model", "voice_id", "url"))


def _each(build: Callable[[Entry], FrameProcessor], entries: Sequence[Entry]) -> list[Candidate]:
    return [Candidate(_label(entry), partial(build, entry)) for entry in entries]


def _label(entry: Entry) -> str:
    return f"{entry.vendor} {entry.model}" if entry.model else entry.vendor
