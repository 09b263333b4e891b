"""Services without any provider, for trials offline and for tests: `--services switchboard_engine.local:services`.

Speech comes from the program espeak-ng, recognition from the package pocketsphinx within a grammar, and the language
model from any OpenAI-compatible endpoint: `OPENAI_BASE_URL`, `OPENAI_API_KEY`. They are no match for real ones.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService

from ..client.wire import Json, mapping, text
from ..conversation.settings import bounded
from ..services import ProviderError, Services
from .llm import EndpointLLMService
from .stt import SphinxSTTService
from .tts import EspeakTTSService, program

BASE_URL_VARIABLE = "OPENAI_BASE_URL"


class LocalServices:
    """The `Services` of this machine."""

    def stt(self, entry: Json | None, *, languages: Sequence[str]) -> FrameProcessor:
        """Make speech-to-text for the phrases of `engine.phrases`, or the JSGF grammar of `engine.grammar`.

        Raises `ProviderError` without either, and for another language than English: pocketsphinx brings no other.
        """
        engine = mapping(entry or {}, "engine")
        phrases = engine.get("phrases")
        known = [phrase for phrase in phrases if isinstance(phrase, str)] if isinstance(phrases, list) else []
        grammar = text(engine, "grammar")
        if not languages[0].lower().startswith("en"):
            raise ProviderError(f"The local speech-to-text knows English only, not {languages[0]}.")
        if grammar is None and not known:
            raise ProviderError("The local speech-to-text needs `phrases` or a `grammar` in its `engine` object.")
        return SphinxSTTService(grammar or known)

    def tts(
        self, provider: Json | None, voice: Json | None, *, language: str, options: Mapping[str, Any]
    ) -> FrameProcessor:
        """Make text-to-speech; `engine.voice_id` of the voice is one of espeak-ng, by default that of the language."""
        del provider
        if program() is None:
            raise ProviderError("The local text-to-speech needs the program espeak-ng.")
        name = text(mapping(voice or {}, "engine"), "voice_id") or language.lower()
        return EspeakTTSService(name, speed=bounded(options, "speech_speed", 0.7, 1.2, 1.0))

    def llm(self, entry: Json | None, *, temperature: float | None, prompt: str) -> LLMService[Any]:
        """Make the model `engine.model` of the endpoint; raises `ProviderError` without `OPENAI_BASE_URL`."""
        url = os.environ.get(BASE_URL_VARIABLE)
        if not url:
            raise ProviderError(f"Give the URL of a language model in {BASE_URL_VARIABLE}.")
        entry = entry or {}
        model = text(mapping(entry, "engine"), "model") or text(entry, "code") or "local"
        settings = EndpointLLMService.Settings(model=model, system_instruction=prompt)
        if temperature is not None:
            settings.temperature = temperature
        return EndpointLLMService(api_key=os.environ.get("OPENAI_API_KEY") or "none", base_url=url, settings=settings)

    def realtime(
        self, entry: Json | None, *, voice: Json | None, language: str, options: Mapping[str, Any], prompt: str
    ) -> LLMService[Any]:
        """Raise `ProviderError`: no local model hears and speaks."""
        del entry, voice, language, options, prompt
        raise ProviderError("There is no local speech-to-speech model: use the mode pipeline.")

    def unsupported(self, assistant: Json) -> list[str]:
        """Name what espeak-ng knows nothing of, where the assistant asks for it."""
        asked = (
            ("voice_stability", bounded(assistant, "voice_stability", 0, 1, 0.7) != 0.7),  # noqa: PLR2004
            ("voice_similarity", bounded(assistant, "voice_similarity", 0, 1, 0.5) != 0.5),  # noqa: PLR2004
            ("secondary_language_ids", bool(assistant.get("secondary_languages"))),
        )
        return [name for name, is_asked in asked if is_asked]


def services() -> Services:
    """Return the services of this machine."""
    return LocalServices()
