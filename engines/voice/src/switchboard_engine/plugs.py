"""What is plugged in by name, as `module:function`: the conversation, the legs, and the hooks of dead workers.

A *handler* carries one call from its claim or arrival to its end. A *leg* brings calls in while it is entered, and has
the handler carry them. An *orphan hook* ends the dialogs of a worker that died, such as by sending BYE.
"""

import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from .client import Call, Engine

Handler = Callable[[Call], Awaitable[None]]
"""Carries a call; must hang up and return when `call.lost` is set, and hang up when it is cancelled."""
LegFactory = Callable[[Engine, Handler], AbstractAsyncContextManager[None]]
"""Brings calls with the engine while entered, each carried by awaiting the handler."""
OrphanHook = Callable[[Sequence[Mapping[str, Any]]], Awaitable[None]]
"""Gets what a leg said of each dialog that was up when its worker died."""

DEFAULT_HANDLER = "switchboard_engine.conversation:converse"
"""The voice conversation."""
SERVICES_VARIABLE = "SWITCHBOARD_ENGINE_SERVICES"
"""Names what makes the services of the conversation, in the environment of a worker."""
LEGS = "switchboard_engine.legs.registry:legs_of"
"""The legs of this package."""


class PlugError(Exception):
    """What was named cannot be loaded; the message says why."""


def load(name: str) -> Callable[..., Any]:
    """Return the callable of `module:function`; raises `PlugError`."""
    module_name, _, attribute = name.partition(":")
    try:
        found: Any = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        if name == LEGS:
            message = f"The legs need the extra `voice`: pip install 'switchboard-engine[voice]' ({error})."
        elif name == DEFAULT_HANDLER:
            message = (
                "The voice conversation needs the extra `voice`: pip install 'switchboard-engine[voice]'. "
                "To run a conversation of your own, name it with --handler module:function."
            )
        else:
            message = f"{name} cannot be loaded as module:function: {error}"
        raise PlugError(message) from error
    if not callable(found):
        message = f"{name} is no function."
        raise PlugError(message)
    plug: Callable[..., Any] = found
    return plug
