"""What the command makes of the options of legs."""

import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.fake_service import TOKEN
from switchboard_engine import cli
from switchboard_engine.legs import settings as leg_settings
from switchboard_engine.legs.settings import (
    AsteriskSettings,
    SipSettings,
    TelnyxSettings,
    TwilioSettings,
    WebSettings,
)

KEY = "Qq5C1ZJ9k9zJt1rGx2pXr7oT5fL3m8y0uVwXyZaBcD4="


def settings_of(arguments: Sequence[str], **environment: str) -> dict[str, Any]:
    """Return the settings of the legs that a command names, as the second of its workers reads them."""
    given = cli._parser().parse_args(["run", "--url", "http://s", "--token", TOKEN, "--workers", "2", *arguments])
    variables = {f"SWITCHBOARD_ENGINE_{name}": value for name, value in environment.items()}
    worker = cli.settings_of(given, variables).worker
    legs = type(worker).read(worker.message()).named_legs
    return {name: leg_settings.read(name, members).for_worker(2, 2) for name, members in legs.items()}


def test_a_leg_is_set_up_by_its_name_alone_where_that_is_enough() -> None:
    found = settings_of(["--leg", "sip", "--leg", "web"])
    sip = found["sip"]
    assert (sip.port, sip.rtp_ports, sip.calls_max, sip.public_address) == (5062, (15_000, 19_999), 10, "")
    with socket.socket() as probe:
        probe.bind((sip.host, 0))  # an address of this machine
    assert found["web"] == WebSettings("127.0.0.1", 8301)


def test_options_and_variables_say_the_same() -> None:
    expected = {
        "sip": SipSettings(
            "192.0.2.1", 5072, ca_file=__file__, rtp_ports=(20_500, 20_999), public_address="203.0.113.7", calls_max=10
        ),
        "twilio": TwilioSettings("127.0.0.1", 9001, "https://v.example/2"),
        "telnyx": TelnyxSettings("127.0.0.1", 8201, "https://v.example/t2", ("a", "b")),
        "asterisk": AsteriskSettings("http://pbx:8088", "engine", "from the variable", "app-2"),
        "web": WebSettings("::1", 9101, ("stun:s:3478",)),
    }
    legs = [part for leg in expected for part in ("--leg", leg)]
    values = {
        "sip-listen": ["192.0.2.1:5070"],
        "sip-ca-file": [__file__],
        "sip-public-address": ["203.0.113.7"],
        "rtp-ports": ["20000-20999"],
        "twilio-listen": ["127.0.0.1:9000"],
        "twilio-url": ["https://v.example/{worker}"],
        "telnyx-url": ["https://v.example/t{worker}"],
        "telnyx-public-key": ["a", "b"],
        "asterisk-url": ["http://pbx:8088"],
        "asterisk-user": ["engine"],
        "asterisk-app": ["app-{worker}"],
        "web-listen": ["[::1]:9100"],
        "ice-server": ["stun:s:3478"],
    }
    options = [part for name, given in values.items() for value in given for part in (f"--{name}", value)]
    variables = {name.replace("-", "_").upper(): ",".join(given) for name, given in values.items()}
    password = {"ASTERISK_PASSWORD": "from the variable"}
    assert settings_of([*legs, *options], **password) == expected
    assert settings_of(legs, **variables, **password) == expected


def test_a_password_comes_from_a_file_and_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("from the file\n")
    options = ["--leg", "asterisk", "--asterisk-user", "e", "--asterisk-password-file", str(tmp_path / "password")]
    found = settings_of(options)["asterisk"]
    assert found.password == "from the file"
    assert "from the file" not in repr(found)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--leg", "twilio"], "Give --twilio-url or SWITCHBOARD_ENGINE_TWILIO_URL."),
        (["--leg", "telnyx", "--telnyx-url", "https://t/{worker}"], "Give --telnyx-public-key or"),
        (["--leg", "asterisk"], "Give --asterisk-user or"),
        (["--leg", "asterisk", "--asterisk-user", "e"], "Give --asterisk-password-file or"),
        (["--leg", "asterisk", "--asterisk-user", "e", "--asterisk-password-file", "/no"], "--asterisk-password-file:"),
        (["--leg", "twilio", "--twilio-url", "https://t"], "--twilio-url needs {worker}"),
        (["--leg", "twilio", "--twilio-url", "t/{worker}"], "must be an absolute http or https URL"),
        (["--leg", "twilio", "--twilio-url", "https://t/{worker}", "--twilio-listen", "8100"], "an address is HOST:"),
        (["--leg", "sip", "--sip-listen", "phone.example:5060"], "must be an IP address, not 'phone.example'"),
        (["--leg", "sip", "--sip-listen", "127.0.0.1:65533"], "65535 is no port, or has none after it"),
        (["--leg", "sip", "--sip-public-address", "home"], "the public address must be an IP address"),
        (["--leg", "sip", "--sip-stun", "stun"], "--sip-stun: an address is HOST:PORT"),
        (["--leg", "sip", "--sip-certificate", "/no/such"], "--sip-certificate: there is no file /no/such"),
        (["--leg", "sip", "--rtp-ports", "20000-10000"], "--rtp-ports: ports are FIRST-LAST"),
        (["--leg", "sip", "--rtp-ports", "\u0661-2"], "--rtp-ports: ports are FIRST-LAST"),
        (["--leg", "sip", "--rtp-ports", "20000-20030"], "2 workers of 5 calls need 40 ports"),
        (["--leg", "web", "--ice-server", "http://s"], "no stun: or turn: URL"),
        (
            ["--leg", "asterisk", "--asterisk-user", "e", "--asterisk-endpoint", "PJSIP/{digits}"],
            "Give --asterisk-password-file",
        ),
    ],
)
def test_wrong_options_are_named(arguments: list[str], sentence: str) -> None:
    with pytest.raises((ValueError, OSError)) as error:
        settings_of(arguments)
    assert sentence in str(error.value)


def test_an_endpoint_with_unknown_parts_is_named() -> None:
    options = ["--leg", "asterisk", "--asterisk-user", "e", "--asterisk-endpoint", "PJSIP/{digits}"]
    with pytest.raises(ValueError, match="an endpoint is filled in with"):
        settings_of(options, ASTERISK_PASSWORD="x")
