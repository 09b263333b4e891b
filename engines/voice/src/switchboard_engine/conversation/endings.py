"""What the end of a line means for its call."""

from ..legs import Ended, Outcome
from .talk import End

# Of lines that were never answered; `busy` and `no-answer` are the service's own words.
_UNANSWERED = {
    Outcome.BUSY: "busy",
    Outcome.NO_ANSWER: "no-answer",
    Outcome.REJECTED: "the call was rejected",
    Outcome.UNREACHABLE: "the number cannot be reached",
    Outcome.WRONG_CREDENTIALS: "the trunk refuses its credentials",
    Outcome.CANCELLED: "the call was given up before it was answered",
}
_ANSWERED = {
    Outcome.TRANSFERRED: "transferred",
    Outcome.MEDIA_TIMEOUT: "no sound came from the line any more",
}


def of_line(ended: Ended, *, answered: bool) -> End:
    """Return why the call ends with its line."""
    status = f" ({ended.status})" if ended.status else ""
    if not answered:
        reason = _UNANSWERED.get(ended.outcome, "the line failed")
        plain = ended.outcome in (Outcome.BUSY, Outcome.NO_ANSWER)
        return End(ended.by, reason if plain else f"{reason}{status}", failed=True)
    if ended.outcome is Outcome.FAILED:
        return End("engine", f"the line failed: {ended.detail}" if ended.detail else "the line failed")
    return End(ended.by, _ANSWERED.get(ended.outcome, f"the {ended.by} hung up"))
