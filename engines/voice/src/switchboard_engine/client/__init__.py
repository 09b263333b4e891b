"""A client of Switchboard's engine interface, protocol 2, without audio."""

from . import events
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
from .timing import Timing
from .wire import Assistant, CallInfo, Command, Function, Passage, Telephony, ToolAnswer, Trunks

__all__ = [
    "Assistant",
    "BusyError",
    "CallInfo",
    "CallLostError",
    "Command",
    "ConflictError",
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
    "Trunks",
    "UnauthenticatedError",
    "UnreachableError",
    "events",
]
