"""The command's options for the legs of this package; each is also an environment variable.

`--sip-listen` is `SWITCHBOARD_ENGINE_SIP_LISTEN`, and so on; a variable for an option that may be repeated separates
its values by commas. Options of legs that are not run are ignored.
"""

import argparse
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .legs import settings as leg_settings
from .legs.settings import WORKER_MARK

PREFIX = "SWITCHBOARD_ENGINE_"
_PORT_MAX = 65_535
_SPARE_CALLS = 2
"""Lines of a call: its own, and that of a colleague who is asked before a transfer."""


@dataclass(frozen=True)
class _Option:
    """One option: `member` is that of the leg's settings, `read` makes its value of a text."""

    name: str
    help: str
    member: str
    read: Callable[[str], Any] = str
    default: str | None = ""
    repeated: bool = False
    required: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that stands for it."""
        return PREFIX + self.name.removeprefix("--").replace("-", "_").upper()

    @property
    def key(self) -> str:
        """Its name among parsed arguments."""
        return self.name.removeprefix("--").replace("-", "_")


def address(text: str) -> tuple[str, int]:
    """Read HOST:PORT; an IPv6 address stands in brackets."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or not port.isascii() or int(port) > _PORT_MAX:
        raise ValueError("an address is HOST:PORT")
    return host.strip("[]"), int(port)


def _ports(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and 1024 <= int(first) < int(last) <= _PORT_MAX):  # noqa: PLR2004
        raise ValueError("ports are FIRST-LAST, from 1024 to 65535")
    return int(first), int(last)


def _file(text: str) -> str:
    if text and not Path(text).is_file():
        raise ValueError(f"there is no file {text}")
    return text


def _content(text: str) -> str:
    return Path(text).read_text(encoding="utf-8").strip() if text else ""


def _host_and_port(text: str) -> str:
    if text:
        address(text)
    return text


def _own_address() -> str:
    """Return the address by which this machine reaches others; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return "127.0.0.1"
        return str(probe.getsockname()[0])


_OPTIONS: Mapping[str, Sequence[_Option]] = {
    "sip": (
        _Option("--sip-listen", "address for SIP by UDP and TCP; TLS has the next port", "listen", address, None),
        _Option("--sip-public-address", "IP address outside of a NAT that forwards the ports", "public_address"),
        _Option("--sip-stun", "HOST:PORT of a STUN server, behind another NAT", "stun_server", _host_and_port),
        _Option("--sip-certificate", "PEM file with key and chain, for calls to us by TLS", "certificate", _file),
        _Option("--sip-ca-file", "authorities that vouch for trunks (the machine's)", "ca_file", _file, None),
        _Option("--rtp-ports", "ports of the audio, dealt out among the workers", "rtp_ports", _ports, "10000-20000"),
    ),
    "twilio": (
        _Option("--twilio-listen", "address of the web server for Twilio", "listen", address, "127.0.0.1:8100"),
        _Option("--twilio-url", "public URL of that server", "public_url", required=True),
    ),
    "telnyx": (
        _Option("--telnyx-listen", "address of the web server for Telnyx", "listen", address, "127.0.0.1:8200"),
        _Option("--telnyx-url", "public URL of that server", "public_url", required=True),
        _Option("--telnyx-public-key", "public key of the Telnyx account", "public_keys", repeated=True, required=True),
    ),
    "asterisk": (
        _Option("--asterisk-url", "URL of Asterisk's HTTP server", "url", default="http://127.0.0.1:8088"),
        _Option("--asterisk-user", "user of its REST interface", "username", required=True),
        _Option("--asterisk-password-file", "file with that user's password", "password", _content),
        _Option("--asterisk-app", "name of the ARI application", "app", default=f"switchboard-{WORKER_MARK}"),
        _Option(
            "--asterisk-endpoint",
            "what is dialed; {number}, {trunk}, {address} and {caller} are filled in",
            "endpoint",
            default="PJSIP/{number}@trunk-{trunk}",
        ),
        _Option(
            "--asterisk-transfer-context", "context of the dialplan", "transfer_context", default="switchboard-transfer"
        ),
    ),
    "web": (
        _Option("--web-listen", "address of the door for browsers", "listen", address, "127.0.0.1:8300"),
        _Option("--ice-server", "stun: or turn: URL that helps browsers through", "ice_servers", repeated=True),
    ),
}
_PASSWORD = PREFIX + "ASTERISK_PASSWORD"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of all legs."""
    for leg, options in _OPTIONS.items():
        group = parser.add_argument_group(f"leg {leg}")
        for option in options:
            action = "append" if option.repeated else "store"
            group.add_argument(option.name, action=action, default=None, help=f"{option.help}; else {option.variable}")


def settings_of(
    legs: Sequence[str], given: argparse.Namespace, environment: Mapping[str, str], *, workers: int, capacity: int
) -> dict[str, dict[str, Any]]:
    """Return the settings of legs, as JSON by their names; `ValueError` and `OSError` for wrong ones."""
    found = {}
    for leg in legs:
        members = {option.member: _value(option, given, environment) for option in _OPTIONS[leg]}
        members = {name: value for name, value in members.items() if value is not None}
        if leg == "sip":
            members.setdefault("listen", (_own_address(), 5060))
            members["calls_max"] = _SPARE_CALLS * capacity
            _check_ports(members["rtp_ports"], workers, capacity)
        if leg == "asterisk":
            members["password"] = members["password"] or environment.get(_PASSWORD, "")
            if not members["password"]:
                raise ValueError(f"Give --asterisk-password-file or {_PASSWORD}.")
        if listen := members.pop("listen", None):
            members["host"], members["port"] = listen
        _check_mark(leg, members.get("public_url") or members.get("app"), workers)
        try:
            leg_settings.read(leg, members).for_worker(workers, workers)
        except ValueError as error:
            raise ValueError(f"The leg {leg} cannot be run: {error}.") from error
        found[leg] = members
    return found


def _value(option: _Option, given: argparse.Namespace, environment: Mapping[str, str]) -> Any:  # noqa: ANN401
    text = getattr(given, option.key, None)
    if text is None:
        text = environment.get(option.variable, option.default)
    if option.required and not text:
        raise ValueError(f"Give {option.name} or {option.variable}.")
    if text is None:
        return None
    try:
        if option.repeated:
            parts = text if isinstance(text, list) else [part.strip() for part in text.split(",")]
            return tuple(option.read(part) for part in parts if part)
        return option.read(text)
    except (ValueError, OSError) as error:
        raise ValueError(f"{option.name}: {error}") from error


def _check_ports(ports: tuple[int, int], workers: int, capacity: int) -> None:
    """See that each worker has a port for the audio and one for the reports of each of its lines, and as many spare."""
    needed = workers * capacity * 4
    if ports[1] - ports[0] + 1 < needed:
        raise ValueError(f"--rtp-ports: {workers} workers of {capacity} calls need {needed} ports.")


def _check_mark(leg: str, text: str | None, workers: int) -> None:
    if text is not None and workers > 1 and WORKER_MARK not in text:
        name = "--asterisk-app" if leg == "asterisk" else f"--{leg}-url"
        raise ValueError(f"{name} needs {WORKER_MARK}, which each of {workers} workers replaces by its number.")
