"""Realtime models, which hear and answer speech themselves: one row a vendor.

In the mode `multimodal` they speak in a voice of their own; in `dualplex` they write, and a synthesizer speaks.
"""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.services.llm_service import LLMService

from ..services import ProviderError
from . import accounts
from .accounts import Access, Account, Kind
from .entry import Entry, Loaded, base_language, language, load, settings_of
from .voice_options import SPEED, VoiceOptions, number

THRESHOLD, TEMPERATURE = "turn_detection_threshold", "llm_temperature"
_GEMINI_SPEAKS_ONLY = "native-audio"
_LOW_SENSITIVITY_FROM = 0.5


@dataclass(frozen=True, slots=True)
class RealtimeRequest:
    """A multimodal model of the catalogue, its voice if it has one of its own, the language, and the settings."""

    entry: Entry
    voice: str | None
    tag: str
    options: Mapping[str, Any]
    prompt: str | None = None

    @property
    def model(self) -> str:
        """The vendor's name of the model."""
        return self.entry.required("model")

    @property
    def writes(self) -> bool:
        """Whether it is to write, for a synthesizer to speak."""
        return self.options.get("mode") == "dualplex"

    @property
    def temperature(self) -> float | None:
        """Temperature of its answers; null for its own."""
        return number(self.options, TEMPERATURE, 0.0) if self.options.get(TEMPERATURE) is not None else None

    @property
    def threshold(self) -> float | None:
        """How loud speech must be to count, 0 to 1; null for the model's own."""
        return number(self.options, THRESHOLD, 0.0) if self.options.get(THRESHOLD) is not None else None

    def given(self, **values: object) -> dict[str, object]:
        """Return the prompt and the values that are there."""
        all_values = {"system_instruction": self.prompt, **values}
        return {name: value for name, value in all_values.items() if value is not None}

    def must_speak(self) -> None:
        """Raise `ProviderError` if it is to write: the model can only speak."""
        if self.writes:
            raise ProviderError(f"The {self.entry.label} only speaks itself; dualplex needs a model that can write.")


@dataclass(frozen=True, slots=True)
class RealtimeVendor:
    """How a vendor's realtime model is reached."""

    account: Account
    service: str
    build: Callable[[Loaded, Access, RealtimeRequest], Loaded]
    can: frozenset[str]
    """Which settings it can do, of those that not all can."""


def _aws(service: Loaded, access: Access, ask: RealtimeRequest) -> Loaded:
    ask.must_speak()
    given = ask.given(voice=ask.voice, temperature=ask.temperature)
    return service(
        access_key_id=access.key,
        secret_access_key=access.values["AWS_SECRET_ACCESS_KEY"],
        session_token=access.values.get("AWS_SESSION_TOKEN"),
        region=access.values["AWS_REGION"],
        settings=settings_of(service, ask.entry, model=ask.model, **given),
    )


def _google(service: Loaded, access: Access, ask: RealtimeRequest) -> Loaded:
    if _GEMINI_SPEAKS_ONLY in ask.model:
        ask.must_speak()
    modalities = load("pipecat.services.google.gemini_live.llm:GeminiModalities", accounts.GOOGLE)
    given = ask.given(voice=ask.voice, temperature=ask.temperature, vad=_gemini_vad(ask.threshold))
    options = {}
    if access.url:
        options["http_options"] = load("google.genai.types:HttpOptions", accounts.GOOGLE)(base_url=access.url)
    settings = settings_of(
        service,
        ask.entry,
        model=ask.model,
        language=language(ask.tag),
        modalities=modalities.TEXT if ask.writes else modalities.AUDIO,
        **given,
    )
    return service(api_key=access.key, **options, settings=settings)


def _gemini_vad(threshold: float | None) -> Loaded:
    # Gemini knows two sensitivities instead of a threshold.
    if threshold is None:
        return None
    params = load("pipecat.services.google.gemini_live.llm:GeminiVADParams", accounts.GOOGLE)
    sensitivity = load("google.genai.types:StartSensitivity", accounts.GOOGLE)
    low = threshold > _LOW_SENSITIVITY_FROM
    start = sensitivity.START_SENSITIVITY_LOW if low else sensitivity.START_SENSITIVITY_HIGH
    return params(start_sensitivity=start)


def _openai(service: Loaded, access: Access, ask: RealtimeRequest) -> Loaded:
    events = "pipecat.services.openai.realtime.events:"
    event = {name: load(events + name, accounts.OPENAI) for name in _OPENAI_EVENTS}
    speed = VoiceOptions.read(ask.options).speed
    cleaned = ask.options.get("enable_noise_cancellation", True)
    hearing = event["AudioInput"](
        transcription=event["InputAudioTranscription"](
            model=ask.entry.engine.get("transcription_model", "gpt-4o-transcribe"), language=base_language(ask.tag)
        ),
        noise_reduction=event["InputAudioNoiseReduction"](type="near_field") if cleaned else None,
        turn_detection=event["TurnDetection"](threshold=ask.threshold) if ask.threshold is not None else None,
    )
    speaking = event["AudioOutput"](voice=ask.voice, speed=speed if speed != VoiceOptions().speed else None)
    session = event["SessionProperties"](
        model=ask.model,
        output_modalities=["text"] if ask.writes else ["audio"],
        audio=event["AudioConfiguration"](input=hearing, output=None if ask.writes else speaking),
    )
    url = {"base_url": _websocket(access.url) + "/realtime"} if access.url else {}
    settings = settings_of(service, ask.entry, model=ask.model, session_properties=session, **ask.given())
    return service(api_key=access.key, **url, settings=settings)


_OPENAI_EVENTS = (
    "AudioConfiguration",
    "AudioInput",
    "AudioOutput",
    "InputAudioNoiseReduction",
    "InputAudioTranscription",
    "SessionProperties",
    "TurnDetection",
)


def _websocket(url: str) -> str:
    """Return the websocket's address of an HTTP one."""
    return "ws" + url.removeprefix("http").rstrip("/") if url.startswith("http") else url.rstrip("/")


def _ultravox(service: Loaded, access: Access, ask: RealtimeRequest) -> Loaded:
    params = load("pipecat.services.ultravox.llm:OneShotInputParams", accounts.ULTRAVOX)
    asked = params(
        api_key=access.key,
        # Ultravox is told all this when the call begins, and never again.
        system_prompt=ask.prompt or ask.options.get("prompt"),
        model=ask.model,
        voice=_ultravox_voice(ask.voice),
        temperature=ask.temperature or 0.0,
        output_medium="text" if ask.writes else "voice",
        extra={"languageHint": ask.tag},
    )
    return service(params=asked, one_shot_selected_tools=_tools(ask.options.get("functions") or []))


def _ultravox_voice(voice: str | None) -> uuid.UUID | None:
    try:
        return uuid.UUID(voice) if voice else None
    except ValueError as error:
        raise ProviderError(f"Ultravox knows voices by a UUID, not by {voice!r}.") from error


def _tools(functions: list[Mapping[str, Any]]) -> ToolsSchema:
    """Return the functions of a claimed assistant as Pipecat's tools."""
    return ToolsSchema(
        standard_tools=[
            FunctionSchema(
                name=function["name"],
                description=function.get("description") or "",
                properties=(function.get("parameters") or {}).get("properties", {}),
                required=(function.get("parameters") or {}).get("required", []),
            )
            for function in functions
        ]
    )


def _qwen(_service: Loaded, _access: Access, ask: RealtimeRequest) -> Loaded:
    raise ProviderError(
        f"The {ask.entry.label} cannot be reached: Pipecat has no service for Qwen's realtime models. "
        "Choose another multimodal model."
    )


REALTIME: Mapping[str, RealtimeVendor] = {
    "aws": RealtimeVendor(
        accounts.NOVA_SONIC,
        "pipecat.services.aws.nova_sonic.llm:AWSNovaSonicLLMService",
        _aws,
        frozenset({TEMPERATURE}),
    ),
    "google": RealtimeVendor(
        accounts.GOOGLE,
        "pipecat.services.google.gemini_live.llm:GeminiLiveLLMService",
        _google,
        frozenset({TEMPERATURE, THRESHOLD}),
    ),
    "openai": RealtimeVendor(
        accounts.OPENAI,
        "pipecat.services.openai.realtime.llm:OpenAIRealtimeLLMService",
        _openai,
        frozenset({SPEED, THRESHOLD}),
    ),
    "qwen": RealtimeVendor(accounts.QWEN, "pipecat.services.qwen.llm:QwenLLMService", _qwen, frozenset()),
    "ultravox": RealtimeVendor(
        accounts.ULTRAVOX,
        "pipecat.services.ultravox.llm:UltravoxRealtimeLLMService",
        _ultravox,
        frozenset({TEMPERATURE}),
    ),
}


def realtime_vendor(entry: Entry) -> RealtimeVendor:
    """Return the row of an entry's vendor; raises `ProviderError` for one that has none."""
    if entry.vendor not in REALTIME:
        raise ProviderError(f"No realtime model of the vendor {entry.vendor}; there are {', '.join(REALTIME)}.")
    return REALTIME[entry.vendor]


def build_realtime(ask: RealtimeRequest, environment: Mapping[str, str]) -> LLMService[Any]:
    """Make the realtime model; raises `ProviderError`."""
    vendor = realtime_vendor(ask.entry)
    reached = accounts.access(vendor.account, Kind.REALTIME, ask.entry.engine, environment)
    built: LLMService[Any] = vendor.build(load(vendor.service, vendor.account), reached, ask)
    return built
