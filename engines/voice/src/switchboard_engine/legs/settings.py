"""How legs are set up. Nothing here loads a leg: the command and the supervisor read it too.

Several workers of one host share the settings: those of worker 1 are as written, `for_worker` moves ports and names of
the others, so that none is in another's way.
"""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Protocol, Self
from urllib.parse import urlsplit

WORKER_MARK = "{worker}"
"""Stands for the worker's number in a public URL."""
SIP_PORTS_A_WORKER = 2
PORT_MAX = 65_535


class LegSettings(Protocol):
    """What the settings of every leg can do."""

    def for_worker(self, number: int, workers: int) -> Self:
        """Return the settings of a worker, 1 to `workers`."""


def system_ca_file() -> str:
    """Return the file of the authorities that this machine trusts, `""` where there is none."""
    known = (ssl.get_default_verify_paths().cafile, "/etc/ssl/certs/ca-certificates.crt", "/etc/ssl/cert.pem")
    return next((path for path in known if path and Path(path).is_file()), "")


@dataclass(frozen=True)
class SipSettings:
    """How the stack listens.

    `host` is the address that calls come to (an IP address of this machine), `port` that of UDP and TCP; TLS has the
    next. `certificate` is a PEM file with key and chain, without which TLS only calls out; `ca_file` holds the
    authorities that vouch for the trunks' certificates.
    `rtp_ports` bounds the media's ports. `rtp_timeout_s` ends a call that sends nothing any more; 0: never.
    `jitter_buffer_ms` is how long received sound waits, at least and at most: the stack hardly leaves the first number,
    jitter beyond it is heard as loss (with 20, a fifth of the sound at 50 ms of jitter; none with 60), and all of it
    is delay.
    `accounts_max` bounds the accounts that a process ever had: the stack has room for 1,023, and frees none. After so
    many the leg takes no more calls, and its worker is replaced when those that run have ended.
    Behind a NAT that forwards these ports, `public_address` is the address outside of it (an IP address): it is told as
    where audio and requests within calls go. Behind one that forwards nothing, `stun_server` (`host:port`) tells where
    audio goes, at the cost of a question before each call. Either way the trunks have to answer where requests came
    from (RFC 3581), registrations included, as carriers do.
    """

    host: str
    port: int = 5060
    certificate: str = ""
    ca_file: str = field(default_factory=system_ca_file)
    rtp_ports: tuple[int, int] = (10_000, 20_000)
    rtp_timeout_s: int = 30
    jitter_buffer_ms: tuple[int, int] = (20, 100)
    calls_max: int = 16
    accounts_max: int = 900
    register_every_s: int = 300
    public_address: str = ""
    stun_server: str = ""

    def __post_init__(self) -> None:
        """Refuse, by `ValueError`, what no stack could listen on."""
        for name, address in (("the address to listen on", self.host), ("the public address", self.public_address)):
            if address or name != "the public address":
                _check_address(name, address)
        _check_port(self.port, SIP_PORTS_A_WORKER)
        if not 1 <= self.rtp_ports[0] < self.rtp_ports[1] <= PORT_MAX:
            raise ValueError(f"{self.rtp_ports[0]} to {self.rtp_ports[1]} are no ports for audio")

    @property
    def registrations_max(self) -> int:
        """Most trunks that are registered at a time: the other accounts are for their calls, and for changes."""
        return self.accounts_max // 2

    def for_worker(self, number: int, workers: int) -> Self:
        """Give each worker the next ports, and its share of those for media."""
        share = (self.rtp_ports[1] - self.rtp_ports[0] + 1) // workers // 2 * 2
        first = self.rtp_ports[0] + (number - 1) * share
        port = self.port + (number - 1) * SIP_PORTS_A_WORKER
        return replace(self, port=port, rtp_ports=(first, first + share - 1))


@dataclass(frozen=True)
class DoorSettings:
    """Where a leg's web server listens, and the public base URL (`https://host`) by which the provider reaches it."""

    host: str
    port: int
    public_url: str

    def __post_init__(self) -> None:
        """Refuse, by `ValueError`, what no provider could reach."""
        _check_port(self.port)
        _check_url("the public URL", self.public_url)

    def for_worker(self, number: int, workers: int) -> Self:
        """Give each worker the next port, and its number in the URL."""
        del workers
        url = self.public_url.replace(WORKER_MARK, str(number))
        return replace(self, port=self.port + number - 1, public_url=url)


@dataclass(frozen=True)
class TwilioSettings(DoorSettings):
    """The leg of Twilio needs nothing else."""


@dataclass(frozen=True)
class TelnyxSettings(DoorSettings):
    """Besides, the public keys by which Telnyx's webhooks are proved, in base64: one for each account."""

    public_keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class AsteriskSettings:
    """Which Asterisk, and what its configuration calls things.

    `url` is that of its HTTP server, `http://host:8088`; `app` the name of the ARI application, by which its dialplan
    hands calls to us, and in which `{worker}` stands for the worker's number. `endpoint` is what is dialed: `{number}`,
    `{trunk}` (the trunk's id), `{address}` and `{caller}` are filled in. `transfer_context` is the dialplan's context
    that takes transferred calls, with the number as extension.
    """

    url: str
    username: str
    password: str = field(repr=False)
    app: str = "switchboard"
    endpoint: str = "PJSIP/{number}@trunk-{trunk}"
    transfer_context: str = "switchboard-transfer"

    def __post_init__(self) -> None:
        """Refuse, by `ValueError`, a URL or an endpoint that cannot be one."""
        _check_url("Asterisk's URL", self.url)
        try:
            self.endpoint.format(number="1", trunk="1", address="h", caller="1")
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError("an endpoint is filled in with {number}, {trunk}, {address} and {caller}") from error

    def for_worker(self, number: int, workers: int) -> Self:
        """Give each worker its own application."""
        del workers
        return replace(self, app=self.app.replace(WORKER_MARK, str(number)))


@dataclass(frozen=True)
class WebSettings:
    """Where the door listens, and the STUN and TURN servers (`stun:host:port`) that help media through."""

    host: str
    port: int
    ice_servers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse, by `ValueError`, what is no port or server."""
        _check_port(self.port)
        for url in self.ice_servers:
            if not url.startswith(("stun:", "stuns:", "turn:", "turns:")):
                raise ValueError(f"{url!r} is no stun: or turn: URL")

    def for_worker(self, number: int, workers: int) -> Self:
        """Give each worker the next port."""
        del workers
        return replace(self, port=self.port + number - 1)


def _check_address(name: str, address: str) -> None:
    try:
        ip_address(address)
    except ValueError as error:
        raise ValueError(f"{name} must be an IP address, not {address!r}") from error


def _check_port(port: int, ports: int = 1) -> None:
    if not 1 <= port <= PORT_MAX + 1 - ports:
        raise ValueError(f"{port} is no port, or has none after it")


def _check_url(name: str, url: str) -> None:
    parts = urlsplit(url.replace(WORKER_MARK, "1"))
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(f"{name} must be an absolute http or https URL, not {url!r}")


NAMED: Mapping[str, Callable[..., LegSettings]] = {
    "sip": SipSettings,
    "twilio": TwilioSettings,
    "telnyx": TelnyxSettings,
    "asterisk": AsteriskSettings,
    "web": WebSettings,
}
"""The legs of this package, and what each is set up by."""


def message(settings: Any) -> dict[str, Any]:  # noqa: ANN401 - any of those that are named above
    """Return settings as JSON."""
    return asdict(settings)


def read(name: str, members: Mapping[str, Any]) -> LegSettings:
    """Read what `message` returned for a named leg."""
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in members.items()}
    return NAMED[name](**values)
