"""What `switchboard-engine check` says of the providers: which vendors can be reached, and what the others lack.

Nobody is asked anything: a key may still be wrong.
"""

from collections.abc import Iterator, Mapping

from ..services import ProviderError
from . import accounts
from .accounts import Account, Kind
from .entry import load
from .llm import LLM
from .realtime import REALTIME
from .settings import ProviderSettings
from .stt import STT
from .tts import TTS

_TABLES: Mapping[Kind, Mapping[str, tuple[Account, str]]] = {
    Kind.STT: {vendor: (row.account, row.service) for vendor, row in STT.items()},
    Kind.TTS: {vendor: (row.account, row.service) for vendor, row in TTS.items()},
    Kind.LLM: {vendor: (row.account, row.service) for vendor, row in LLM.items()},
    Kind.REALTIME: {vendor: (row.account, row.service) for vendor, row in REALTIME.items() if vendor != "qwen"},
}


def report(environment: Mapping[str, str]) -> str:
    """Return a line a vendor and kind, and the substitutes; raises `ProviderError` for wrong settings."""
    return "\n".join([*_vendors(environment), "", *_substitutes(environment)]) + "\n"


def _vendors(environment: Mapping[str, str]) -> Iterator[str]:
    for kind, table in _TABLES.items():
        for vendor, (account, service) in table.items():
            yield f"{kind:<9} {vendor:<13} {_state(kind, account, service, environment)}"


def _state(kind: Kind, account: Account, service: str, environment: Mapping[str, str]) -> str:
    try:
        reached = accounts.access(account, kind, {}, environment)
        load(service, account)
    except ProviderError as error:
        return str(error)
    return f"ready, at {reached.url}" if reached.url else "ready"


def _substitutes(environment: Mapping[str, str]) -> Iterator[str]:
    for kind, entries in ProviderSettings.read(environment).fallbacks.items():
        names = ", ".join(entry.label.removeprefix("substitute ") for entry in entries)
        yield f"Substitutes for {kind}: {names or 'none'}"
