"""Text-to-speech: one row a vendor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pipecat.processors.frame_processor import FrameProcessor

from ..services import ProviderError
from . import accounts
from .accounts import Access, Account, Kind
from .entry import MENDED_HERE, Entry, Loaded, base_language, language, load, settings_of
from .voice_options import EMOTION, SIMILARITY, SPEED, STABILITY, VoiceOptions

_OPENAI_HZ = 24_000
"""The only rate of OpenAI's speech; Pipecat's output converts it."""
_ELEVENLABS_CODES = {"nb-NO": "no"}
_POLLY_CODES = {"zh-CN": "zh", "zh-HK": "yue"}
_EVEN_TONE = "Speak in an even, neutral tone, without emotion."
_FAST_DEEPGRAM = ("-en", "-es")
"""Ends of the Aura voices whose speed can be changed."""


@dataclass(frozen=True, slots=True)
class TtsRequest:
    """A voice of the catalogue with what its provider's entry adds, the language to speak, and the settings."""

    entry: Entry
    tag: str
    options: VoiceOptions

    @property
    def voice(self) -> str:
        """The vendor's id of the voice."""
        return self.entry.required("voice_id")

    @property
    def speed(self) -> float | None:
        """The speed, if it is not the usual one."""
        return self.options.speed if self.options.speed != VoiceOptions().speed else None


@dataclass(frozen=True, slots=True)
class TtsVendor:
    """How a vendor's synthesizer is made."""

    account: Account
    service: str
    build: Callable[[Loaded, Access, TtsRequest], Loaded]
    can: Callable[[TtsRequest], frozenset[str]]
    """Which settings of the voice it can do."""


def _aws(service: Loaded, access: Access, ask: TtsRequest) -> Loaded:
    values = access.values
    return service(
        api_key=values.get("AWS_SECRET_ACCESS_KEY"),
        aws_access_key_id=values.get("AWS_ACCESS_KEY_ID"),
        aws_session_token=values.get("AWS_SESSION_TOKEN"),
        region=values["AWS_REGION"],
        settings=settings_of(
            service,
            ask.entry,
            voice=ask.voice,
            engine=ask.entry.required("model"),
            language=language(ask.tag, _POLLY_CODES),
            rate=f"{ask.speed:.0%}" if ask.speed else None,
        ),
    )


def _azure(service: Loaded, access: Access, ask: TtsRequest) -> Loaded:
    where = {"private_endpoint": access.url} if access.url else {"region": access.values[accounts.AZURE.keys[1]]}
    settings = settings_of(
        service,
        ask.entry,
        voice=ask.voice,
        language=language(ask.tag),
        rate=f"{ask.speed:g}" if ask.speed else None,
    )
    return service(api_key=access.key, **where, settings=settings)


def _cartesia(service: Loaded, access: Access, ask: TtsRequest) -> Loaded:
    config = load("pipecat.services.cartesia.tts:GenerationConfig", accounts.CARTESIA)
    emotion = None if ask.options.emotion else "neutral"
    settings = settings_of(
        service,
        ask.entry,
        model=ask.entry.required("model"),
        voice=ask.voice,
        language=base_language(ask.tag),  # all Sonic models know these; the accent is the voice's
        generation_config=config(speed=ask.speed, emotion=emotion) if ask.speed or emotion else None,
    )
    url = {"url": f"{access.url.rstrip('/')}/tts/websocket"} if access.url else {}
    return service(api_key=access.key, **url, **MENDED_HERE, settings=settings)


def _deepgram(service: Loaded, access: Access, ask: TtsRequest) -> Loaded:
    speed = ask.speed if SPEED in _deepgram_can(ask) else None
    settings = settings_of(service, ask.entry, voice=ask.voice, speed=speed)
    return service(api_key=access.key, **access.url_as("base_url"), **MENDED_HERE, settings=settings)


def _deepgram_can(ask: TtsRequest) -> frozenset[str]:
    return frozenset({SPEED} if ask.voice.endswith(_FAST_DEEPGRAM) else ())


def _elevenlabs(service: Loaded, access: Access, ask: TtsRequest) -> Loaded:
    options = ask.options
    settings = settings_of(
        service,
        ask.entry,
        model=ask.entry.required("model"),
        voice=ask.voice,
        language=language(ask.tag, _ELEVENLABS_CODES),
        stability=options.stability,
        similarity_boost=options.similarity,
        speed=ask.speed,
        style=None if options.emotion else 0.0,
    )
    return service(api_key=access.key, **access.url_as("url"), **MENDED_HERE, settings=settings)


def _google(service: Loaded, access: Access, ask: TtsRequest) -> Loaded:
    # Google refuses a voice in another language than its own, which its name begins with.
    tag = "-".join(ask.voice.split("-")[:2])
    if not _google_streams(ask.voice):
        service = load("pipecat.services.google.tts:GoogleHttpTTSService", accounts.GOOGLE_CLOUD)
    rate = {"speaking_rate": ask.speed} if _google_streams(ask.voice) else {"rate": f"{ask.speed or 1:.0%}"}
    settings = settings_of(service, ask.entry, voice=ask.voice, language=language(tag), **rate)
    return service(credentials_path=access.key, location=ask.entry.engine.get("location"), settings=settings)


def _google_streams(voice: str) -> bool:
    return "Chirp3-HD" in voice or "Journey" in voice


def _openai(service: Loaded, access: Access, ask: TtsRequest) -> Loaded:
    if access.url:
        service = load("switchboard_engine.providers.compatible:CompatibleTTSService", accounts.OPENAI)
    can = _openai_can(ask)
    settings = settings_of(
        service,
        ask.entry,
        model=ask.entry.required("model"),
        voice=ask.voice,
        speed=ask.speed if SPEED in can else None,
        instructions=_EVEN_TONE if EMOTION in can and not ask.options.emotion else None,
    )
    return service(api_key=access.key, **access.url_as("base_url"), sample_rate=_OPENAI_HZ, settings=settings)


def _openai_can(ask: TtsRequest) -> frozenset[str]:
    # gpt-4o-mini-tts is told how to speak and ignores a speed; tts-1 and servers of one's own do it the other way.
    return frozenset({EMOTION} if (ask.entry.model or "").startswith("gpt-") else {SPEED})


def _always(*names: str) -> Callable[[TtsRequest], frozenset[str]]:
    return lambda _: frozenset(names)


TTS: Mapping[str, TtsVendor] = {
    "aws": TtsVendor(accounts.AWS, "pipecat.services.aws.tts:AWSPollyTTSService", _aws, _always(SPEED)),
    "azure": TtsVendor(accounts.AZURE, "pipecat.services.azure.tts:AzureTTSService", _azure, _always(SPEED)),
    "cartesia": TtsVendor(
        accounts.CARTESIA, "pipecat.services.cartesia.tts:CartesiaTTSService", _cartesia, _always(SPEED, EMOTION)
    ),
    "deepgram": TtsVendor(
        accounts.DEEPGRAM_AURA, "pipecat.services.deepgram.tts:DeepgramTTSService", _deepgram, _deepgram_can
    ),
    "elevenlabs": TtsVendor(
        accounts.ELEVENLABS,
        "pipecat.services.elevenlabs.tts:ElevenLabsTTSService",
        _elevenlabs,
        _always(SPEED, STABILITY, SIMILARITY, EMOTION),
    ),
    "google": TtsVendor(accounts.GOOGLE_CLOUD, "pipecat.services.google.tts:GoogleTTSService", _google, _always(SPEED)),
    "openai": TtsVendor(accounts.OPENAI, "pipecat.services.openai.tts:OpenAITTSService", _openai, _openai_can),
}


def tts_vendor(entry: Entry) -> TtsVendor:
    """Return the row of an entry's vendor; raises `ProviderError` for one that has none."""
    if entry.vendor not in TTS:
        raise ProviderError(f"No text-to-speech of the vendor {entry.vendor}; there are {', '.join(TTS)}.")
    return TTS[entry.vendor]


def voice_entry(provider: Entry, voice: Entry) -> Entry:
    """Return the voice with the members that its provider adds; the voice's own go first.

    A voice is its vendor's alone: a provider of another vendor adds nothing.
    """
    if provider.vendor != voice.vendor:
        return voice
    settings = {**(provider.engine.get("settings") or {}), **(voice.engine.get("settings") or {})}
    return Entry(voice.label, {**provider.engine, **voice.engine, "settings": settings})


def build_tts(ask: TtsRequest, environment: Mapping[str, str]) -> FrameProcessor:
    """Make the synthesizer; raises `ProviderError`."""
    vendor = tts_vendor(ask.entry)
    reached = accounts.access(vendor.account, Kind.TTS, ask.entry.engine, environment)
    built: FrameProcessor = vendor.build(load(vendor.service, vendor.account), reached, ask)
    return built
