"""How a leg of this package is named on the command line: `sip host=192.0.2.1 port=5060`.

What is not said there comes from the environment, where `SWITCHBOARD_ENGINE_SIP_HOST` is the member `host` of the leg
`sip`: passwords belong there. Ranges are written `10000-20000`, lists with commas.
"""

import shlex
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, get_args, get_origin, get_type_hints

from .legs import settings

PREFIX = "SWITCHBOARD_ENGINE"


def named(text: str) -> bool:
    """Return whether an option names a leg of this package."""
    return text.split(maxsplit=1)[:1] != [] and text.split(maxsplit=1)[0] in settings.NAMED


def read(text: str, environment: Mapping[str, str]) -> tuple[str, dict[str, Any]]:
    """Return a leg's name and its members as JSON; `ValueError` says what is missing or unknown."""
    name, *words = shlex.split(text)
    kind: Any = settings.NAMED[name]
    hints = get_type_hints(kind)
    given = {
        member: environment[key] for member in hints if (key := f"{PREFIX}_{name}_{member}".upper()) in environment
    }
    for word in words:
        member, equals, value = word.partition("=")
        if not equals or member not in hints:
            message = f"The leg {name} has no {member}; it has {', '.join(hints)}, each as MEMBER=VALUE."
            raise ValueError(message)
        given[member] = value
    members = {member: _value(f"{name} {member}", hints[member], value) for member, value in given.items()}
    required = [field.name for field in fields(kind) if field.default is MISSING and field.default_factory is MISSING]
    missing = [member for member in required if member not in members]
    if missing:
        variables = ", ".join(f"{PREFIX}_{name}_{member}".upper() for member in missing)
        message = f"The leg {name} needs {', '.join(missing)}: add MEMBER=VALUE to --leg, or set {variables}."
        raise ValueError(message)
    return name, members


def _value(what: str, hint: Any, text: str) -> Any:  # noqa: ANN401 - as the member is typed
    """Read a value of a member's type."""
    try:
        if hint is int:
            return int(text)
        if get_origin(hint) is tuple and get_args(hint) == (int, int):
            first, _, last = text.partition("-")
            return [int(first), int(last)]
        if get_origin(hint) is tuple:
            return [part for part in text.split(",") if part]
    except ValueError as error:
        message = f"{what} is {text!r}, which is no {'number' if hint is int else 'range such as 10000-20000'}."
        raise ValueError(message) from error
    return text
