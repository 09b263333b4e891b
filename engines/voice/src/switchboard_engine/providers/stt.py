"""Speech-to-text: one row a vendor."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipecat.processors.frame_processor import FrameProcessor

from ..services import ProviderError
from . import accounts
from .accounts import Access, Account, Kind
from .entry import ISO_639_1, MENDED_HERE, Entry, Loaded, base_language, language, load, settings_of

_DEEPGRAM_REGIONS = frozenset(
    [
        "da-DK",
        "de-CH",
        "en-AU",
        "en-GB",
        "en-IN",
        "en-NZ",
        "en-US",
        "es-419",
        "fr-CA",
        "ko-KR",
        "nl-BE",
        "pt-BR",
        "pt-PT",
        "sv-SE",
        "zh-CN",
        "zh-HK",
        "zh-TW",
    ]
)
_DEEPGRAM_CODES = {"es-MX": "es-419", "es-US": "es-419"}
_SPEECHMATICS_CODES = {**ISO_639_1, "zh-CN": "cmn", "zh-HK": "yue"}
_GOOGLE_LANGUAGES_MAX = 3


@dataclass(frozen=True, slots=True)
class SttRequest:
    """A transcriber of the catalogue, and the languages to hear: the assistant's first, then those it may switch to."""

    entry: Entry
    tags: Sequence[str]

    @property
    def languages(self) -> list[Any]:
        """Pipecat's languages of the tags."""
        return [language(tag) for tag in self.tags]

    def languages_by(self, aliases: Mapping[str, str]) -> list[Any]:
        """Pipecat's languages of the tags, which the vendor knows by other names."""
        return [language(tag, aliases) for tag in self.tags]

    @property
    def is_several(self) -> bool:
        """Whether it is to find out which language is spoken."""
        return len(self.tags) > 1


Build = Callable[[Loaded, Access, SttRequest], Loaded]


@dataclass(frozen=True, slots=True)
class SttVendor:
    """How a vendor's transcriber is made."""

    account: Account
    service: str
    build: Build
    hears_several: bool
    """Whether it finds out by itself which of several languages is spoken."""


def _assemblyai(service: Loaded, access: Access, ask: SttRequest) -> Loaded:
    # The multilingual model of the catalogue takes no languages; those of the Universal-3 family do.
    steered = ask.entry.model is not None and not ask.entry.model.startswith("universal-streaming")
    codes = {"language_codes": ask.languages} if steered else {"language_detection": ask.is_several}
    return service(
        api_key=access.key,
        **access.url_as("api_endpoint_base_url"),
        **MENDED_HERE,
        settings=settings_of(service, ask.entry, model=ask.entry.required("model"), **codes),
    )


def _azure(service: Loaded, access: Access, ask: SttRequest) -> Loaded:
    where = {"private_endpoint": access.url} if access.url else {"region": access.values[accounts.AZURE.keys[1]]}
    settings = settings_of(service, ask.entry, language=ask.languages[0])
    return service(api_key=access.key, **where, settings=settings)


def _deepgram(service: Loaded, access: Access, ask: SttRequest) -> Loaded:
    codes = list(dict.fromkeys(deepgram_code(tag) for tag in ask.tags))
    several = {"language": "multi", "extra": {"language_hint": codes}}
    heard = several if len(codes) > 1 else {"language": codes[0]}
    settings = settings_of(service, ask.entry, model=ask.entry.required("model"), **heard)
    return service(api_key=access.key, base_url=access.url or "", settings=settings)


def deepgram_code(tag: str) -> str:
    """Return Deepgram's code: it knows few regions and refuses the others."""
    return _DEEPGRAM_CODES.get(tag) or (tag if tag in _DEEPGRAM_REGIONS else base_language(tag))


def _gladia(service: Loaded, access: Access, ask: SttRequest) -> Loaded:
    code_of = load("pipecat.services.gladia.stt:language_to_gladia_language", accounts.GLADIA)
    config = load("pipecat.services.gladia.config:LanguageConfig", accounts.GLADIA)
    codes = list(dict.fromkeys(code_of(known) for known in ask.languages_by(ISO_639_1)))
    settings = settings_of(
        service,
        ask.entry,
        model=ask.entry.required("model"),
        language_config=config(languages=codes, code_switching=len(codes) > 1),
    )
    return service(api_key=access.key, **access.url_as("url"), **MENDED_HERE, settings=settings)


def _google(service: Loaded, access: Access, ask: SttRequest) -> Loaded:
    return service(
        credentials_path=access.key,
        location=ask.entry.engine.get("location", "global"),
        settings=settings_of(
            service, ask.entry, model=ask.entry.required("model"), languages=ask.languages[:_GOOGLE_LANGUAGES_MAX]
        ),
    )


def _openai(service: Loaded, access: Access, ask: SttRequest) -> Loaded:
    model = ask.entry.required("model")
    if access.url:  # servers of one's own take whole utterances; OpenAI's streams are of its own making
        service = load("pipecat.services.openai.stt:OpenAISTTService", accounts.OPENAI)
        settings = settings_of(service, ask.entry, model=model, language=ask.languages_by(ISO_639_1)[0])
        return service(api_key=access.key, base_url=access.url, settings=settings)
    settings = settings_of(service, ask.entry, model=model, language=ask.languages_by(ISO_639_1)[0])
    return service(api_key=access.key, **MENDED_HERE, settings=settings)


def _soniox(service: Loaded, access: Access, ask: SttRequest) -> Loaded:
    settings = settings_of(
        service,
        ask.entry,
        model=ask.entry.required("model"),
        language_hints=ask.languages_by(ISO_639_1),
        enable_language_identification=ask.is_several,
    )
    return service(api_key=access.key, **access.url_as("url"), **MENDED_HERE, settings=settings)


def _speechmatics(service: Loaded, access: Access, ask: SttRequest) -> Loaded:
    settings = settings_of(service, ask.entry, language=ask.languages_by(_SPEECHMATICS_CODES)[0])
    return service(api_key=access.key, **access.url_as("base_url"), settings=settings)


STT: Mapping[str, SttVendor] = {
    "assemblyai": SttVendor(
        accounts.ASSEMBLYAI, "pipecat.services.assemblyai.stt:AssemblyAISTTService", _assemblyai, hears_several=True
    ),
    "azure": SttVendor(accounts.AZURE, "pipecat.services.azure.stt:AzureSTTService", _azure, hears_several=False),
    "deepgram": SttVendor(
        accounts.DEEPGRAM, "pipecat.services.deepgram.stt:DeepgramSTTService", _deepgram, hears_several=True
    ),
    "gladia": SttVendor(accounts.GLADIA, "pipecat.services.gladia.stt:GladiaSTTService", _gladia, hears_several=True),
    "google": SttVendor(
        accounts.GOOGLE_CLOUD, "pipecat.services.google.stt:GoogleSTTService", _google, hears_several=True
    ),
    "openai": SttVendor(
        accounts.OPENAI, "pipecat.services.openai.stt:OpenAIRealtimeSTTService", _openai, hears_several=False
    ),
    "soniox": SttVendor(accounts.SONIOX, "pipecat.services.soniox.stt:SonioxSTTService", _soniox, hears_several=True),
    "speechmatics": SttVendor(
        accounts.SPEECHMATICS,
        "pipecat.services.speechmatics.stt:SpeechmaticsSTTService",
        _speechmatics,
        hears_several=False,
    ),
}


def stt_vendor(entry: Entry) -> SttVendor:
    """Return the row of an entry's vendor; raises `ProviderError` for one that has none."""
    if entry.vendor not in STT:
        raise ProviderError(f"No speech-to-text of the vendor {entry.vendor}; there are {', '.join(STT)}.")
    return STT[entry.vendor]


def build_stt(ask: SttRequest, environment: Mapping[str, str]) -> FrameProcessor:
    """Make the transcriber; raises `ProviderError`."""
    vendor = stt_vendor(ask.entry)
    reached = accounts.access(vendor.account, Kind.STT, ask.entry.engine, environment)
    built: FrameProcessor = vendor.build(load(vendor.service, vendor.account), reached, ask)
    return built
