"""What is known of the calls on the wire, message by message."""

import json

import pytest

from switchboard_engine.legs.sip import dialog
from switchboard_engine.legs.sip.dialog import Call, Calls

THEM = ("192.0.2.9", 5060)
PROXY = ("192.0.2.1", 5060)


class Watched(Calls):
    """Keeps what was told last of each call."""

    def __init__(self) -> None:
        self.told: dict[str, Call | None] = {}
        super().__init__(self.told.__setitem__)

    def ours(self, first: str, **headers: str) -> None:
        """Send a message."""
        self.take(wire(first, **headers), sent=True, hop=PROXY, transport="UDP")

    def theirs(self, first: str, **headers: str) -> None:
        """Receive one."""
        self.take(wire(first, **headers), sent=False, hop=THEM, transport="UDP")


def wire(first: str, **headers: str) -> bytes:
    """Return a message; names of headers have `_` for `-`."""
    known = {
        "call_id": "c1",
        "from": "<sip:a@h>;tag=a",
        "to": "<sip:b@h>",
        "cseq": "7 INVITE",
        "via": "SIP/2.0/UDP h;x",
    }
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in (known | headers).items())
    return f"{first}\r\n{lines}\r\n".encode()


ANSWERED = {"to": "<sip:b@h>;tag=b", "contact": "<sip:b@192.0.2.9>;x=1"}


def up() -> Watched:
    """Return a call of ours that is up."""
    calls = Watched()
    calls.ours("INVITE sip:b@h SIP/2.0", route="<sip:out;lr>")
    calls.theirs("SIP/2.0 200 OK", record_route="<sip:p1;lr>, <sip:p2;lr>", **ANSWERED)
    return calls


def test_a_call_of_ours_is_cancelled_until_it_is_answered() -> None:
    calls = Watched()
    calls.ours("INVITE sip:b@h SIP/2.0", route="<sip:out;lr>")
    calls.theirs("SIP/2.0 180 Ringing", to="<sip:b@h>;tag=b")
    ringing = calls.told["c1"]
    assert ringing == Call(
        "CANCEL", "c1", "<sip:a@h>;tag=a", "<sip:b@h>", "sip:b@h", 7, "UDP", (PROXY,), ("<sip:out;lr>",),
        ("SIP/2.0/UDP h;x",),
    )  # fmt: skip
    calls.theirs("SIP/2.0 401 Unauthorized")
    assert calls.told["c1"] is None
    calls.ours("INVITE sip:b@h SIP/2.0", cseq="8 INVITE")
    calls.theirs("SIP/2.0 486 Busy Here", cseq="8 INVITE")
    assert calls.told["c1"] is None


def test_a_call_that_is_up_knows_its_way_and_its_number() -> None:
    calls = up()
    call = calls.told["c1"]
    assert call is not None
    assert (call.end, call.target, call.hops) == ("BYE", "sip:b@192.0.2.9", (THEM, PROXY))
    assert call.routes == ("<sip:p2;lr>", "<sip:p1;lr>")
    calls.ours("ACK sip:b@192.0.2.9 SIP/2.0", cseq="7 ACK", to=ANSWERED["to"])
    calls.ours("INFO sip:b@192.0.2.9 SIP/2.0", cseq="9 INFO", to=ANSWERED["to"])
    calls.ours("INVITE sip:b@192.0.2.9 SIP/2.0", cseq="10 INVITE", to=ANSWERED["to"])
    calls.theirs("SIP/2.0 491 Request Pending", cseq="10 INVITE", to=ANSWERED["to"])
    calls.theirs("INVITE sip:a@us SIP/2.0", cseq="3 INVITE", to="<sip:a@h>;tag=a", contact="<sip:b@192.0.2.77>")
    later = calls.told["c1"]
    assert later is not None
    assert (later.cseq, later.hops, later.target) == (10, (PROXY, THEM), "sip:b@192.0.2.77")
    assert Call.read(json.loads(json.dumps(later.data() | {"password": "beside"}))) == later
    calls.ours("SIP/2.0 200 OK", cseq="4 BYE")
    assert calls.told["c1"] is None


def test_a_call_to_us_is_refused_until_we_answer() -> None:
    calls = Watched()
    calls.theirs("INVITE sip:b@us SIP/2.0", contact="sip:a@192.0.2.9:5070;x=1")
    assert calls.told == {}  # nobody let it in so far
    calls.ours("SIP/2.0 100 Trying")
    calls.ours("SIP/2.0 180 Ringing", to=ANSWERED["to"])
    waiting = calls.told["c1"]
    assert waiting is not None
    assert (waiting.end, waiting.cseq, waiting.vias) == ("refuse", 7, ("SIP/2.0/UDP h;x",))
    calls.ours("SIP/2.0 200 OK", to=ANSWERED["to"], record_route="<sip:p1;lr>")
    call = calls.told["c1"]
    assert call is not None
    assert (call.end, call.local, call.remote) == ("BYE", ANSWERED["to"], "<sip:a@h>;tag=a")
    assert (call.target, call.routes, call.cseq) == ("sip:a@192.0.2.9:5070", ("<sip:p1;lr>",), 0)
    calls.theirs("SIP/2.0 200 OK", cseq="1 BYE")
    assert calls.told["c1"] is None


def test_a_call_to_us_that_is_refused_or_given_up_is_over() -> None:
    calls = Watched()
    calls.theirs("INVITE sip:b@us SIP/2.0")
    calls.ours("SIP/2.0 180 Ringing", to=ANSWERED["to"])
    calls.ours("SIP/2.0 487 Request Terminated", to=ANSWERED["to"])
    assert calls.told["c1"] is None


@pytest.mark.parametrize(
    "content", [b"", b"\r\n", b"INVITE ", b"SIP/2.0 999", b"INVITE x SIP/2.0\r\n\r\n", b"\xff" * 99]
)
def test_what_is_no_message_says_nothing(content: bytes) -> None:
    calls = Watched()
    for sent in (False, True):
        calls.take(content, sent=sent, hop=THEM, transport="UDP")
    assert calls.told == {}


def test_strangers_fill_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialog, "CALLS_MAX", 10)
    monkeypatch.setattr(dialog, "CONTACTS_MAX", 10)
    calls = Watched()
    for number in range(50):
        calls.theirs("INVITE sip:b@us SIP/2.0", call_id=f"s{number}")
        calls.theirs("BYE sip:b@us SIP/2.0", call_id=f"s{number}", cseq="1 BYE")
        calls.ours("INVITE sip:b@h SIP/2.0", call_id=f"o{number}", cseq="odd INVITE")
    assert len(calls._contacts) == 10
    assert sum(call is not None for call in calls.told.values()) == 10
