"""Entries of the catalogue, as they come with a claimed assistant: read once, at the border."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any, Self

from pipecat.transcriptions.language import Language

from ..services import ProviderError
from .accounts import Account

Json = Mapping[str, Any]
Loaded = Any
"""What is imported when it is needed, as its wheel may be missing: a class of Pipecat, or an object of one."""

MENDED_HERE = {"reconnect_on_error": False}
"""For services on a websocket of Pipecat's: when they reconnect, what was on its way is lost, so the fail-over does."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry's `engine` object, and what to call the entry in sentences."""

    label: str
    engine: Json

    @classmethod
    def read(cls, entry: Json | None, what: str) -> Self:
        """Read an entry of the catalogue; raises `ProviderError` where it says no vendor."""
        if entry is None:
            raise ProviderError(f"The assistant has no {what}.")
        label = f"{what} {entry.get('name') or entry.get('code') or ''!s}".strip()
        engine = entry.get("engine")
        if not isinstance(engine, Mapping) or not isinstance(engine.get("vendor"), str):
            raise ProviderError(f"The catalogue does not say the vendor of the {label}.")
        return cls(label, engine)

    @property
    def vendor(self) -> str:
        """The vendor, a key of the kind's table."""
        return str(self.engine["vendor"])

    @property
    def model(self) -> str | None:
        """The vendor's name of the model, if one is given."""
        model = self.engine.get("model")
        return str(model) if model is not None else None

    def required(self, member: str) -> str:
        """Return a member of the engine object; raises `ProviderError` if it is not there."""
        value = self.engine.get(member)
        if not isinstance(value, str) or not value:
            raise ProviderError(f"The catalogue does not say the {member} of the {self.label}.")
        return value


def load(path: str, account: Account) -> Loaded:
    """Import `module:name` of Pipecat; raises `ProviderError` that names the extra whose wheel is missing."""
    module, _, name = path.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except ImportError as error:
        if account.extra is None:
            raise ProviderError(f"{account.name} cannot be loaded: {error}.") from error
        raise ProviderError(
            f"{account.name} needs the extra `{account.extra}`: pip install 'switchboard-engine[{account.extra}]'."
        ) from error


def settings_of(service: Loaded, entry: Entry, **values: object) -> Loaded:
    """Return the service's settings: these values, and over them those that the catalogue has in `settings`."""
    known = {known.name for known in fields(service.Settings)}
    own = entry.engine.get("settings") or {}
    if unknown := sorted(set(own) - known):
        raise ProviderError(
            f"The {entry.label} has settings that its vendor does not know: {', '.join(unknown)}. "
            f"It knows {', '.join(sorted(known))}."
        )
    return service.Settings(**{**values, **own})


def language(tag: str, aliases: Mapping[str, str] = MappingProxyType({})) -> Language | str:
    """Return Pipecat's language of a BCP 47 tag, such as `en-GB`; a tag that Pipecat does not know stays as it is.

    `aliases` are tags that a vendor knows by another name, where Pipecat's table for it has only that.
    """
    try:
        return Language(aliases.get(tag, tag))
    except ValueError:
        return tag


ISO_639_1 = MappingProxyType({"nb-NO": "no", "fil-PH": "tl"})
"""Aliases of vendors that know languages by two letters."""


def base_language(tag: str) -> str:
    """Return the language by two letters: `en` of `en-GB`."""
    return ISO_639_1.get(tag) or tag.partition("-")[0].lower()
