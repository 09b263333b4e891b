"""A client of Switchboard's engine interface, protocol 2: with it one writes a voice engine on any media stack.

`Engine` attaches to the service and hands out each `Call`; a call reports `events`, asks tools and knowledge, and
yields commands. Nothing here knows about audio.
"""

from . import events
from .call import Call
from .checks import CheckStep, TrunkCheck
from .claims import ClaimFilter
from .engine import Engine
from .errors import (
    BusyError,
    CallLostError,
    ConflictError,
    FailingError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    ProtocolError,
    RefusedError,
    ServiceError,
    TemporaryError,
    TooLargeError,
    ToolError,
    UnauthenticatedError,
    UnreachableError,
)
from .heartbeat import TrunkReport
from .timing import Timing
from .wire import Assistant, CallInfo, Command, Function, Passage, Telephony, ToolAnswer, Trunks

__all__ = [
    "Assistant",
    "BusyError",
    "Call",
    "CallInfo",
    "CallLostError",
    "CheckStep",
    "ClaimFilter",
    "Command",
    "ConflictError",
    "Engine",
    "FailingError",
    "ForbiddenError",
    "Function",
    "InvalidError",
    "NotFoundError",
    "Passage",
    "ProtocolError",
    "RefusedError",
    "ServiceError",
    "Telephony",
    "TemporaryError",
    "Timing",
    "TooLargeError",
    "ToolAnswer",
    "ToolError",
    "TrunkCheck",
    "TrunkReport",
    "Trunks",
    "UnauthenticatedError",
    "UnreachableError",
    "events",
]
