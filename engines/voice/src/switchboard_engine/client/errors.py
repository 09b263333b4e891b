"""Refusals and failures of the service, as exceptions that a caller can branch on."""

from collections.abc import Mapping
from typing import Any


class ServiceError(Exception):
    """The service did not do what it was asked; `status` is the HTTP status, None if there was no usable answer."""

    def __init__(self, message: str, status: int | None = None, body: Mapping[str, Any] | None = None) -> None:
        super().__init__(message if status is None else f"{status}: {message}")
        self.message = message
        self.status = status
        self.body = body or {}


class TemporaryError(ServiceError):
    """The same request may succeed later; `retry_after` is the pause that the service asks for, seconds."""

    def __init__(
        self,
        message: str,
        status: int | None = None,
        body: Mapping[str, Any] | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message, status, body)
        self.retry_after = retry_after


class UnreachableError(TemporaryError):
    """No usable answer came: no connection, a timeout, a redirect, a broken body. The request may have been applied."""


class BusyError(TemporaryError):
    """429 or 503: a budget is used up or the store does not answer. Nothing was applied."""


class FailingError(TemporaryError):
    """408 or another 5xx. The request may have been applied."""


class RefusedError(ServiceError):
    """Any other 4xx: repeating the same request is useless."""


class UnauthenticatedError(RefusedError):
    """401: the token is not, or no longer, an engine token."""


class ForbiddenError(RefusedError):
    """403: the token may not do this."""


class NotFoundError(RefusedError):
    """404: no such call, tool or path for this token."""


class ConflictError(RefusedError):
    """409: out of order, or the call is over; `next_seq` is the event number that the service expects."""

    @property
    def next_seq(self) -> int | None:
        """Number of the event that the service expects next; None if the conflict is about something else."""
        number = self.body.get("next_seq")
        return number if isinstance(number, int) and not isinstance(number, bool) and number >= 1 else None


class TooLargeError(RefusedError):
    """413: the body is over its limit."""


class InvalidError(RefusedError):
    """422: members of the body are wrong; the message names them."""


class ProtocolError(ServiceError):
    """The service does not speak the edition of the engine interface that this package needs."""


class CallLostError(Exception):
    """The call is not this engine's any more: its lease ran out, or the service gave it away. Hang up."""


class ToolError(Exception):
    """A tool was not carried out; `message` is a sentence that a model can act on, `status` the HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.message = message
        self.status = status


_BY_STATUS: dict[int, type[RefusedError]] = {
    401: UnauthenticatedError,
    403: ForbiddenError,
    404: NotFoundError,
    409: ConflictError,
    413: TooLargeError,
    422: InvalidError,
}
_TIMEOUT, _TOO_MANY, _UNAVAILABLE, _SERVER = 408, 429, 503, 500


def from_answer(status: int, body: Mapping[str, Any], retry_after: float) -> ServiceError:
    """Return the exception for an answer that is no 2xx."""
    message = body.get("message")
    text = message if isinstance(message, str) and message else "The service gave no reason."
    if status in (_TOO_MANY, _UNAVAILABLE):
        return BusyError(text, status, body, retry_after)
    if status == _TIMEOUT or status >= _SERVER:
        return FailingError(text, status, body, retry_after)
    return _BY_STATUS.get(status, RefusedError)(text, status, body)
