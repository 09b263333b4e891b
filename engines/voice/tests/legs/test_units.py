"""The parts of the SIP leg that need no wire."""

from ipaddress import ip_network
from typing import Any

import numpy as np
import pytest

from switchboard_engine.legs import LegError, Outcome, Telephony
from switchboard_engine.legs.resample import Resampler
from switchboard_engine.legs.sip import account, message, outcome, quality

from .sound import decode_pcmu, encode_pcmu, power, tone

TRUNK = {"trunk_id": 7, "address": "sip.example", "from": "+12025550100"}


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({}, {"trunk_id": "7", "transport": "udp", "register": False, "srtp": "off", "outbound_proxy": ""}),
        ({"transport": "tls"}, {"transport": "tls", "srtp": "optional"}),
        ({"transport": "tls", "srtp": "required"}, {"srtp": "required"}),
        ({"outbound_proxy": True}, {"outbound_proxy": "sip.example"}),
        ({"outbound_proxy": False}, {"outbound_proxy": ""}),
        ({"outbound_proxy": "p.example"}, {"outbound_proxy": "p.example"}),
        ({"username": "carol"}, {"register": True}),
        ({"username": "carol", "register": False}, {"register": False}),
        (
            {
                "username": "carol",
                "inbound_authorization_type": "ip",
                "allowed_inbound_ips": ["192.0.2.7", "2001:db8::/32"],
            },
            {"register": False, "allowed_inbound_ips": (ip_network("192.0.2.7"), ip_network("2001:db8::/32"))},
        ),
        ({"inbound_authorization_type": "auth", "allowed_inbound_ips": ["192.0.2.7"]}, {"allowed_inbound_ips": ()}),
        ({"password": None, "later": "member"}, {"password": ""}),
        ({"kind": "twilio", "address": None}, {"kind": "twilio", "address": ""}),
        (
            {"kind": "sip", "address": "api.telnyx.com", "username": "7267"},
            {"kind": "telnyx", "address": "", "username": "7267", "register": False},
        ),
        ({"address": "api.twilio.com"}, {"kind": "twilio", "address": ""}),
        ({"address": "sip.telnyx.com"}, {"kind": "sip", "address": "sip.telnyx.com"}),
    ],
)
def test_a_trunk_is_read_from_the_api(members: dict[str, Any], expected: dict[str, Any]) -> None:
    trunk = Telephony.from_api(TRUNK | members)
    assert {name: getattr(trunk, name) for name in expected} == expected


@pytest.mark.parametrize("members", [{"address": ""}, {"trunk_id": None}, {"transport": "sctp"}])
def test_a_trunk_that_is_none_is_an_error(members: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"trunk|transport"):
        Telephony.from_api(TRUNK | members)


def test_a_bad_network_is_an_error() -> None:
    with pytest.raises(ValueError, match="999"):
        Telephony.from_api(TRUNK | {"inbound_authorization_type": "ip", "allowed_inbound_ips": ["999.1.1.1"]})


def test_a_password_is_never_shown() -> None:
    trunk = Telephony.from_api(TRUNK | {"username": "carol", "password": "s3cret"})
    assert "s3cret" not in f"{trunk!r} {trunk}"


@pytest.mark.parametrize(
    ("trunk", "to", "expected"),
    [
        ({}, "+12025550123", "sip:+12025550123@sip.example;transport=udp"),
        ({"transport": "tls"}, "101", "sip:101@sip.example;transport=tls"),
        ({}, "*21#", "sip:*21%23@sip.example;transport=udp"),
    ],
)
def test_a_number_becomes_an_address(trunk: dict[str, Any], to: str, expected: str) -> None:
    assert account.uri(Telephony.from_api(TRUNK | trunk), to) == expected


def test_calls_show_the_number_and_prove_the_user() -> None:
    members = {"username": "carol", "password": "p;w d", "outbound_proxy": "proxy.example:5070", "transport": "tcp"}
    line = account.calling(Telephony.from_api(TRUNK | members)).aor()
    assert line.startswith("<sip:+12025550100@sip.example;transport=tcp>;")
    for part in (
        'auth_pass="p;w d"',
        "auth_user=carol",
        "regint=0",
        'outbound="sip:proxy.example:5070;transport=tcp;lr"',
    ):
        assert part in line


@pytest.mark.parametrize("members", [{"address": "a b"}, {"password": 'x"y'}, {"from": "a@b"}, {"username": "x;y=z"}])
def test_a_trunk_cannot_write_into_the_stacks_settings(members: dict[str, Any]) -> None:
    with pytest.raises(LegError, match="trunk 7 cannot be used"):
        account.calling(Telephony.from_api(TRUNK | members))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("486 Busy Here", (Outcome.BUSY, 486)),
        ("487 Request Terminated", (Outcome.CANCELLED, 487)),
        ("407 Proxy Authentication Required", (Outcome.WRONG_CREDENTIALS, 407)),
        ("488 Not Acceptable Here", (Outcome.REJECTED, 488)),
        ("Connection timed out", (Outcome.UNREACHABLE, None)),
        ("", (Outcome.UNREACHABLE, None)),
    ],
)
def test_a_refusal_has_one_meaning(text: str, expected: tuple[Outcome, int | None]) -> None:
    assert outcome.of_refusal(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"Carol" <sip:+1202@h:5060;transport=udp>;tag=1', "+1202"),
        ("sip:101@h", "101"),
        ("<sips:a%23b@h>", "a#b"),
        ("<sip:h>", ""),
        ("nonsense", ""),
    ],
)
def test_the_user_of_an_address(text: str, expected: str) -> None:
    assert message.user(text) == expected


@pytest.mark.parametrize(
    ("source", "target"), [(8_000, 16_000), (16_000, 8_000), (24_000, 16_000), (48_000, 8_000), (8_000, 48_000)]
)
def test_a_rate_is_changed_without_delay_and_without_loss(source: int, target: int) -> None:
    resampler = Resampler(source, target)
    sound = tone(1000, 1.0, source)
    step = source // 50
    parts = [resampler.process(sound[at : at + step].tobytes()) for at in range(0, len(sound), step)]
    assert all(len(part) == target // 50 * 2 for part in parts)
    result = np.frombuffer(b"".join(parts), dtype=np.int16)
    assert power(result, 1000, target) > 0.99
    assert np.max(np.abs(result)) == pytest.approx(8_000, rel=0.02)
    impulse = np.zeros(source // 10, dtype=np.int16)
    impulse[0] = 30_000
    resampler.reset()
    peak = int(np.argmax(np.abs(np.frombuffer(resampler.process(impulse.tobytes()), dtype=np.int16))))
    assert 1000 * peak / target < 2


def test_what_a_telephone_cannot_carry_is_kept_out_of_it() -> None:
    sound = tone(5_000, 1.0, 16_000)
    assert np.max(np.abs(np.frombuffer(Resampler(16_000, 8_000).process(sound.tobytes()), np.int16)[100:-100])) < 40


def test_an_odd_rate_is_changed_too() -> None:
    resampler = Resampler(22_050, 8_000)
    parts = [resampler.process(tone(1000, 0.2, 22_050).tobytes()) for _ in range(3)]
    assert power(np.frombuffer(b"".join(parts), np.int16), 1000) > 0.9


def test_quality_falls_with_loss_and_delay() -> None:
    scores = [quality.mos(loss, delay) for loss, delay in ((0, 20), (0.01, 20), (0.05, 20), (0.05, 400), (1, 1_000))]
    assert scores == sorted(scores, reverse=True)
    assert (round(scores[0], 1), scores[-1]) == (4.4, 1.0)


def test_the_peers_pcmu_is_that_of_g711() -> None:
    assert decode_pcmu(bytes([0xFF, 0x7F, 0x00, 0x80])).tolist() == [0, 0, -32124, 32124]
    codes = bytes(range(256))
    assert [a for a in decode_pcmu(codes) if a] == [a for a in decode_pcmu(encode_pcmu(decode_pcmu(codes))) if a]
