from dataclasses import dataclass
from enum import IntEnum

class Event(IntEnum):
    REGISTER_FAIL = 2
    CREATE = 7
    CALL_RINGING = 12
    CALL_PROGRESS = 13
    CALL_ESTABLISHED = 15
    CALL_CLOSED = 16
    CALL_RTCP = 23
    CALL_LOCAL_SDP = 28
    CALL_HOLD = 30
    CALL_RESUME = 31
    SIPSESS_CONN = 36

@dataclass(frozen=True)
class StackEvent:
    event: Event
    ua: int = 0
    call: int = 0
    text: str | None = None
