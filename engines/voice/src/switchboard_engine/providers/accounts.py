"""Accounts: the environment variables with which the vendors are reached, one row a vendor.

Keys stand in the environment of the engine, never in the catalogue. Every vendor's address can be replaced, for a
region, a proxy or a server of one's own; the first of these that is there counts:

1. `url` of the entry in the catalogue,
2. `NAME_KIND_BASE_URL`, such as `OPENAI_STT_BASE_URL`,
3. `NAME_BASE_URL`, such as `OPENAI_BASE_URL`,
4. the vendor's own.

An address of one's own needs no key. An address from the catalogue is not sent the vendor's key either, as it may be
anybody's: its entry names the variable of its key in `key_variable`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from ..services import ProviderError

NO_KEY = "none"
"""What a server that needs no key is sent: clients insist on one."""
KEY_SUFFIXES = ("_KEY", "_TOKEN")
"""What the name of a catalogue's `key_variable` ends in, so that it cannot name just any variable."""


class Kind(StrEnum):
    """What a service does."""

    STT = "STT"
    TTS = "TTS"
    LLM = "LLM"
    REALTIME = "REALTIME"


@dataclass(frozen=True, slots=True)
class Account:
    """How a vendor is reached."""

    name: str
    """What people call it."""
    prefix: str
    """What the variables of its addresses begin with."""
    keys: tuple[str, ...]
    """Variables that must be set, all of them; the first is the key."""
    optional: tuple[str, ...] = ()
    """Variables that are passed on when they are set."""
    movable: bool = True
    """Whether its address can be replaced."""
    extra: str | None = None
    """Extra of this package with its client library."""


ANTHROPIC = Account("Anthropic", "ANTHROPIC", ("ANTHROPIC_API_KEY",), extra="anthropic")
ASSEMBLYAI = Account("AssemblyAI", "ASSEMBLYAI", ("ASSEMBLYAI_API_KEY",))
AWS = Account(
    "Amazon Web Services",
    "AWS",
    ("AWS_REGION",),
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    movable=False,
    extra="aws",
)
NOVA_SONIC = Account(
    "Amazon Nova Sonic",
    "AWS",
    ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"),
    ("AWS_SESSION_TOKEN",),
    movable=False,
    extra="nova-sonic",
)
AZURE = Account("Azure Speech", "AZURE_SPEECH", ("AZURE_SPEECH_KEY", "AZURE_SPEECH_REGION"), extra="azure")
CARTESIA = Account("Cartesia", "CARTESIA", ("CARTESIA_API_KEY",))
COHERE = Account("Cohere", "COHERE", ("COHERE_API_KEY",))
DEEPGRAM = Account("Deepgram", "DEEPGRAM", ("DEEPGRAM_API_KEY",), extra="deepgram")
DEEPGRAM_AURA = Account("Deepgram", "DEEPGRAM", ("DEEPGRAM_API_KEY",))
ELEVENLABS = Account("ElevenLabs", "ELEVENLABS", ("ELEVENLABS_API_KEY",))
GLADIA = Account("Gladia", "GLADIA", ("GLADIA_API_KEY",))
GOOGLE = Account("Google Gemini", "GOOGLE", ("GOOGLE_API_KEY",), extra="google")
GOOGLE_CLOUD = Account(
    "Google Cloud", "GOOGLE_CLOUD", ("GOOGLE_APPLICATION_CREDENTIALS",), movable=False, extra="google"
)
GROQ = Account("Groq", "GROQ", ("GROQ_API_KEY",))
MISTRAL = Account("Mistral", "MISTRAL", ("MISTRAL_API_KEY",))
OPENAI = Account("OpenAI", "OPENAI", ("OPENAI_API_KEY",))
QWEN = Account("Qwen", "QWEN", ("QWEN_API_KEY",))
SONIOX = Account("Soniox", "SONIOX", ("SONIOX_API_KEY",))
SPEECHMATICS = Account("Speechmatics", "SPEECHMATICS", ("SPEECHMATICS_API_KEY",), extra="speechmatics")
TOGETHER = Account("Together AI", "TOGETHER", ("TOGETHER_API_KEY",))
ULTRAVOX = Account("Ultravox", "ULTRAVOX", ("ULTRAVOX_API_KEY",), movable=False)
XAI = Account("xAI", "XAI", ("XAI_API_KEY",))


@dataclass(frozen=True, slots=True)
class Access:
    """What one service is reached with; the values are secrets."""

    url: str | None
    """Address instead of the vendor's own."""
    values: Mapping[str, str] = field(repr=False)
    """The account's variables that are set."""
    key: str = field(repr=False)
    """The first of the account's keys."""

    def url_as(self, parameter: str) -> dict[str, str]:
        """Return the address as a service's parameter; nothing where it is the vendor's own."""
        return {parameter: self.url} if self.url else {}


def access(account: Account, kind: Kind, engine: Mapping[str, Any], environment: Mapping[str, str]) -> Access:
    """Look up what an entry's service is reached with; raises `ProviderError` for what is missing."""
    own_url = engine.get("url")
    url = own_url or _given_url(account, kind, environment)
    if url and not account.movable:
        raise ProviderError(f"The address of {account.name} cannot be replaced by {url}.")
    if own_url:
        return Access(own_url, {}, _key_of_entry(engine, environment))
    missing = [name for name in account.keys if not environment.get(name)]
    if missing and not url:
        raise ProviderError(f"{account.name} needs {' and '.join(missing)} in the engine's environment.")
    values = {name: environment[name] for name in account.keys + account.optional if environment.get(name)}
    return Access(url, values, values.get(account.keys[0], NO_KEY))


def url_variables(account: Account, kind: Kind) -> tuple[str, ...]:
    """Return the variables that may hold an address for this kind, by rank; none if it cannot be replaced."""
    return (f"{account.prefix}_{kind}_BASE_URL", f"{account.prefix}_BASE_URL") if account.movable else ()


def _given_url(account: Account, kind: Kind, environment: Mapping[str, str]) -> str | None:
    return next((environment[name] for name in url_variables(account, kind) if environment.get(name)), None)


def _key_of_entry(engine: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    name = engine.get("key_variable")
    if name is None:
        return NO_KEY
    if not isinstance(name, str) or not name.endswith(KEY_SUFFIXES):
        raise ProviderError(
            f"key_variable is {name!r}; it must be the name of a variable that ends in {' or '.join(KEY_SUFFIXES)}."
        )
    if not environment.get(name):
        raise ProviderError(f"{engine['url']} needs {name} in the engine's environment.")
    return environment[name]
