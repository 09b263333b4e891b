"""The events of protocol 2 that an engine reports of a call (docs/api.md, Reporting events).

Members that are None are not sent. Times are aware datetimes, durations milliseconds where the name says `_ms`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal

_REASON_CHARS_MAX = 255
"""Longest reason that the service takes; a longer one would have the end of a call refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What all events have; `at` is the time it happened, that of the report if None."""

    type: ClassVar[str]
    at: datetime | None = None

    def members(self) -> dict[str, Any]:
        """Return the event as the service takes it, without its number and without `at` where that is None."""
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        said = {name: _json(value) for name, value in known.items() if value is not None}
        return {"type": self.type, **said}


@dataclass(frozen=True, slots=True)
class Dialing(Event):
    """The engine begins to dial: from here on the call never goes back to the queue."""

    type = "dialing"


@dataclass(frozen=True, slots=True)
class Release(Event):
    """The engine gives the call back before `dialing`; at most three engines may."""

    type = "release"
    reason: str


@dataclass(frozen=True, slots=True)
class Ringing(Event):
    """It rings at the far end."""

    type = "ringing"


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """Somebody, or something, picked up."""

    type = "answered"
    answered_by: Literal["human", "machine", "unknown"] = "unknown"


@dataclass(frozen=True, slots=True)
class Detected(Event):
    """What `answered` could not know yet; the dialer's voicemail rule follows it. `beep`: a tone was heard."""

    type = "detected"
    answered_by: Literal["human", "machine", "unknown"]
    kind: Literal["person", "voicemail", "screening", "menu"] | None = None
    beep: bool | None = None


@dataclass(frozen=True, slots=True)
class Transcript(Event):
    """A line that was said; `text` is what was heard, cut where the line was interrupted."""

    type = "transcript"
    sender: Literal["bot", "human"]
    text: str
    turn: int | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = None
    interrupted: bool | None = None
    language: str | None = None
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Partial(Event):
    """A line as far as it was understood; shown live, never stored. The outbox may drop it."""

    type = "partial"
    turn: int
    text: str


@dataclass(frozen=True, slots=True)
class Variables(Event):
    """Values collected in the call; the later value of a name wins."""

    type = "variables"
    variables: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Dtmf(Event):
    """Keypad digits, 1 to 64 of them, pressed by the customer or sent by the assistant."""

    type = "dtmf"
    digits: str
    by: Literal["customer", "assistant"] | None = None


@dataclass(frozen=True, slots=True)
class Transfer(Event):
    """A transfer to a number or an address, and how far it got."""

    type = "transfer"
    to: str
    mode: Literal["blind", "warm", "bridge"] | None = None
    status: Literal["started", "accepted", "failed"] | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Hold(Event):
    """The customer is on hold."""

    type = "hold"


@dataclass(frozen=True, slots=True)
class Resume(Event):
    """The customer is off hold."""

    type = "resume"


@dataclass(frozen=True, slots=True)
class Recording(Event):
    """A recording that lies elsewhere; one that the engine has is uploaded instead."""

    type = "recording"
    url: str


@dataclass(frozen=True, slots=True)
class Metrics(Event):
    """Where the time of a turn went, milliseconds; stages that a model does not have stay None."""

    type = "metrics"
    turn: int
    endpoint_ms: float | None = None
    stt_ms: float | None = None
    llm_ms: float | None = None
    tts_ms: float | None = None
    transport_ms: float | None = None
    tool_ms: float | None = None
    total_ms: float | None = None
    interrupted: bool | None = None


@dataclass(frozen=True, slots=True)
class Quality(Event):
    """Quality of the line: mean opinion score 1 to 5, share of packets lost, jitter and round trip, milliseconds."""

    type = "quality"
    mos: float | None = None
    loss: float | None = None
    jitter_ms: float | None = None
    rtt_ms: float | None = None
    codec: str | None = None


@dataclass(frozen=True, slots=True)
class Usage(Event):
    """What the call used; the service prices it by the operator's list."""

    type = "usage"
    stt_seconds: float | None = None
    tts_characters: int | None = None
    llm_tokens_in: int | None = None
    llm_tokens_out: int | None = None
    carrier_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Unsupported(Event):
    """Settings of the assistant that this engine cannot carry out, by their names; shown on the call."""

    type = "unsupported"
    settings: Sequence[str]


@dataclass(frozen=True, slots=True)
class CommandResult(Event):
    """The end of a command, by its id."""

    type = "command"
    id: int | str
    status: Literal["done", "refused"]
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Ended(Event):
    """The answered call is over; anyone but `customer` and `assistant` leads to the state `ended`."""

    type = "ended"
    by: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Failed(Event):
    """The call came to nothing; `busy` and `no-answer` lead to those states, anything else to `failed`."""

    type = "failed"
    reason: str


@dataclass(frozen=True, slots=True)
class Cost(Event):
    """Cost of the call, USD; it wins over what `usage` would come to."""

    type = "cost"
    carrier_cost: float
    total_cost: float


ENDS = frozenset({Release.type, Ended.type, Failed.type})
"""Events after which the call is not this engine's to carry any more."""
AFTER_END = frozenset({Recording.type, Cost.type, Usage.type, Quality.type, Metrics.type})
"""Events that the service takes for 24 h after the end."""
LATE = AFTER_END | {Transcript.type}
"""Events that are worth sending after the end: a line of before the end is taken for 30 s."""


def clipped(reason: str | None) -> str | None:
    """Return a reason as long as the service takes it; None for an empty one."""
    return (reason or "").strip()[:_REASON_CHARS_MAX] or None


def iso(time: datetime) -> str:
    """Return a time as the service writes it: UTC, microseconds, `Z`."""
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"


def _json(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return list(value)
    return value
