"""Admission by itself: one line a case."""

from ipaddress import ip_network

import pytest

from switchboard_engine.legs import Telephony
from switchboard_engine.legs.sip.admission import NONCE_LIFE_S, Admission
from switchboard_engine.legs.sip.digest import parameters, response
from switchboard_engine.legs.sip.message import Message

PASSWORD = "s3cret"
OFFICE = Telephony(
    trunk_id="office", address="a", from_="+12025550100", allowed_inbound_ips=(ip_network("192.0.2.0/28"),)
)
SIX = Telephony(trunk_id="six", address="a", from_="101", allowed_inbound_ips=(ip_network("2001:db8::/64"),))
CAROL = Telephony(trunk_id="carol", address="a", from_="+12025550101", username="carol", password=PASSWORD)
HOME = Telephony(trunk_id="home", address="pbx.example", from_="200", username="200", password="x", register=True)
ALL = (OFFICE, SIX, CAROL, HOME)


def invite(to: str = "+12025550100", authorization: str = "", call_id: str = "c1") -> Message:
    """An INVITE as the wire has it."""
    header = f"Authorization: {authorization}\r\n" if authorization else ""
    message = Message.parse(
        f"INVITE sip:{to}@h SIP/2.0\r\nf: <sip:+15550100@h>;tag=1\r\nt: <sip:{to}@h>\r\ni: {call_id}\r\n"
        f"CSeq: 1 INVITE\r\n{header}\r\n".encode()
    )
    assert message is not None
    return message


def admission(*trunks: Telephony) -> Admission:
    """One with trunks."""
    made = Admission(secret=b"secret")
    made.trunks = trunks or ALL
    return made


@pytest.mark.parametrize(
    ("source", "to", "trunk_id"),
    [
        ("192.0.2.1", "+12025550100", "office"),
        ("192.0.2.15", "12025550100", "office"),
        ("192.0.2.15", "anything", "office"),
        ("192.0.2.16", "+12025550100", None),
        ("2001:db8::7", "101", "six"),
        ("2001:db8:1::7", "101", None),
        ("fe80::1%eth0", "101", None),
    ],
)
def test_a_source_address_is_let_in_or_challenged(source: str, to: str, trunk_id: str | None) -> None:
    gate = admission()
    refusal = gate.decide(invite(to), source, 0.0)
    taken = gate.take("c1")
    assert (taken.trunk_id if taken else None) == trunk_id
    assert (refusal.status if refusal else None) == (None if trunk_id else 401)
    assert gate.take("c1") is None


def test_without_a_trunk_that_has_a_password_nobody_is_challenged() -> None:
    gate = admission(OFFICE)
    refusal = gate.decide(invite(), "198.51.100.1", 0.0)
    assert refusal is not None
    assert (refusal.status, refusal.headers) == (403, "")
    assert gate.refused == {"address": 1}


def answer(gate: Admission, *, username: str = "carol", password: str = PASSWORD, call_id: str = "c1") -> str:
    """Credentials for the challenge that a call gets at 0 s."""
    challenge = gate.decide(invite(call_id=call_id), "198.51.100.1", 0.0)
    assert challenge is not None
    given = parameters(challenge.headers) | {"uri": "sip:h", "nc": "00000001", "cnonce": "x", "qop": "auth"}
    given["response"] = response(given, "INVITE", username, password)
    members = ", ".join(f'{name}="{value}"' for name, value in given.items())
    return f'Digest username="{username}", {members}'


def test_the_digest_of_rfc_2617() -> None:
    given = {
        "realm": "testrealm@host.com", "nonce": "dcd98b7102dd2f0e8b11d0f600bfb0c093", "uri": "/dir/index.html",
        "qop": "auth", "nc": "00000001", "cnonce": "0a4f113b",
    }  # fmt: skip
    assert response(given, "GET", "Mufasa", "Circle Of Life") == "6629fae49393a05397450978507c4ef1"


@pytest.mark.parametrize(
    ("username", "password", "source", "at", "status"),
    [
        ("carol", "s3cret", "198.51.100.1", 1.0, None),
        ("carol", "s3cret", "198.51.100.1", NONCE_LIFE_S - 1.0, None),
        ("carol", "s3cret", "198.51.100.1", NONCE_LIFE_S + 1.0, 401),
        ("carol", "s3cret", "198.51.100.2", 1.0, 403),
        ("carol", "wrong", "198.51.100.1", 1.0, 403),
        ("nobody", "s3cret", "198.51.100.1", 1.0, 403),
    ],
)
def test_a_digest_is_of_one_call_one_sender_and_one_minute(
    username: str, password: str, source: str, at: float, status: int | None
) -> None:
    gate = admission(CAROL)
    refusal = gate.decide(invite(authorization=answer(gate, username=username, password=password)), source, at)
    assert (refusal.status if refusal else None) == status
    assert (gate.take("c1") is not None) == (status is None)


@pytest.mark.parametrize(
    "authorization", ["Digest", "Digest x", 'Digest nonce="zz.1"', 'Digest nonce="1.\u00e9"', "Basic Y2Fyb2w6"]
)
def test_a_digest_that_is_none_is_no_way_in(authorization: str) -> None:
    gate = admission(CAROL)
    refusal = gate.decide(invite(authorization=authorization), "198.51.100.1", 0.0)
    assert refusal is not None
    assert gate.take("c1") is None


def test_a_registrar_is_let_in_for_its_own_user_only() -> None:
    gate = admission(HOME)
    gate.registered("200@other.example", "198.51.100.9")
    assert gate.decide(invite(), "198.51.100.9", 0.0) is not None
    gate.registered("200@pbx.example", "198.51.100.9")
    assert gate.decide(invite("200-0x1234"), "198.51.100.9", 0.0) is None
    taken = gate.take("c1")
    assert taken is not None
    assert (taken.trunk_id, taken.from_) == ("home", "+15550100")


def test_calls_that_nobody_takes_over_are_forgotten() -> None:
    gate = admission()
    for number in range(5_000):
        gate.decide(invite(call_id=f"c{number}"), "192.0.2.1", 0.0)
    assert gate.take("c0") is None
    assert gate.take("c4999") is not None
