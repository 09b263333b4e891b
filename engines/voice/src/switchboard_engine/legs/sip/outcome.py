"""What the stack's words at a call's end mean."""

from baresip.errors import split_status

from ..leg import Outcome

RTP_TIMEOUT = "rtp stream error"
TRANSFERRED = "Call transfered"  # the stack's spelling

_SERVER_FAILURES = range(500, 600)
_BY_STATUS = {
    401: Outcome.WRONG_CREDENTIALS,
    407: Outcome.WRONG_CREDENTIALS,
    404: Outcome.UNREACHABLE,
    410: Outcome.UNREACHABLE,
    484: Outcome.UNREACHABLE,
    604: Outcome.UNREACHABLE,
    408: Outcome.NO_ANSWER,
    480: Outcome.NO_ANSWER,
    486: Outcome.BUSY,
    600: Outcome.BUSY,
    487: Outcome.CANCELLED,
}


def of_refusal(text: str) -> tuple[Outcome, int | None]:
    """Return why a call was never answered, and its SIP status (RFC 3261 section 21); None where nothing answered."""
    status, _ = split_status(text)
    if status is None or status in _SERVER_FAILURES:
        return Outcome.UNREACHABLE, status
    return _BY_STATUS.get(status, Outcome.REJECTED), status


def of_end(text: str) -> Outcome:
    """Return how an answered call ended that we did not end."""
    if text == RTP_TIMEOUT:
        return Outcome.MEDIA_TIMEOUT
    if text == TRANSFERRED:
        return Outcome.TRANSFERRED
    return Outcome.COMPLETED
