"""The one interface of everything that carries a call's audio.

A *leg* is a way to telephones or browsers: SIP in the process, a provider's media stream, WebRTC. The conversation
above it knows only these types: it asks a leg to dial or takes its arrivals, puts a line's `transport` at the two ends
of its Pipecat pipeline, and follows the line's events. A leg decides nothing about what is said.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, get_args, runtime_checkable

from ..client.checks import CheckStep

if TYPE_CHECKING:  # whoever only reads these types, such as a supervisor, need not load Pipecat
    from pipecat.transports.base_transport import BaseTransport

Party = Literal["customer", "assistant", "engine"]
SipTransportName = Literal["udp", "tcp", "tls"]
Srtp = Literal["off", "optional", "required"]
TransferMode = Literal["blind", "warm"]

RING_TIMEOUT_S = 60.0
PROVIDERS = {"api.twilio.com": "twilio", "api.telnyx.com": "telnyx"}
"""Kinds of trunks by the hosts of the providers' APIs."""


class LegError(Exception):
    """What was asked cannot be done: the line is over, the number cannot be dialed, the stack refused."""


class Outcome(StrEnum):
    """How a line ended. The first six are of lines that were never answered."""

    BUSY = "busy"
    NO_ANSWER = "no-answer"
    REJECTED = "rejected"
    UNREACHABLE = "unreachable"
    WRONG_CREDENTIALS = "wrong-credentials"
    CANCELLED = "cancelled"
    COMPLETED = "completed"
    TRANSFERRED = "transferred"
    MEDIA_TIMEOUT = "media-timeout"
    FAILED = "failed"


@dataclass(frozen=True)
class Ringing:
    """The callee's telephone rings (SIP 180), or its network plays something meanwhile (SIP 183)."""

    early_media: bool = False


@dataclass(frozen=True)
class Answered:
    """The line is up and audio flows."""


@dataclass(frozen=True)
class Ended:
    """The last event of every line.

    `by` is who ended it: `engine` where neither party did (no audio came any more, the network failed).
    `status` is the SIP status of a refused call, such as 486, else None; `detail` is for logs.
    """

    by: Party
    outcome: Outcome
    status: int | None = None
    detail: str = ""


@dataclass(frozen=True)
class Dtmf:
    """The customer pressed a key: one of `0`-`9`, `A`-`D`, `*`, `#`."""

    digit: str
    duration_ms: int


@dataclass(frozen=True)
class Hold:
    """The customer put us on hold."""


@dataclass(frozen=True)
class Resume:
    """The customer took us off hold."""


@dataclass(frozen=True)
class Transferred:
    """The outcome of `Line.transfer`: after `accepted` the line ends, after `failed` it goes on."""

    to: str
    status: Literal["accepted", "failed"]
    reason: str = ""


@dataclass(frozen=True)
class Quality:
    """How well audio was received, told once, just before `Ended`.

    `mos` is an estimate by the E-model (ITU-T G.107), 1.0 to 4.4; `loss` is the share of packets
    lost, 0 to 1; `jitter_ms` is the interarrival jitter of RFC 3550; `rtt_ms` is the round trip by RTCP reports, 0 when
    the peer sends none; `codec` is the name in the SDP, such as `PCMU`.
    """

    mos: float
    loss: float
    jitter_ms: float
    rtt_ms: float
    codec: str


LineEvent = Ringing | Answered | Ended | Dtmf | Hold | Resume | Transferred | Quality


@dataclass(frozen=True, repr=False)
class Telephony:
    """How a call reaches the network: the members of `telephony` in a claim, and of a trunk in `GET /engine/trunks`.

    `from_` is the number shown, and of a trunk its own number or extension; `dial` is the number to call as the trunk
    wants it written, empty for a trunk. `address` is `host` or `host:port`; of Twilio it is the URL of its API or
    empty, `username` the account's SID and `password` its token. `register` says whether calls reach us by a
    registration (RFC 3261 section 10); `allowed_inbound_ips` lets calls in by their source address alone.
    """

    trunk_id: str
    address: str
    kind: str = "sip"
    from_: str = ""
    dial: str = ""
    transport: SipTransportName = "udp"
    username: str = ""
    password: str = ""
    outbound_proxy: str = ""
    register: bool = False
    allowed_inbound_ips: tuple[IPv4Network | IPv6Network, ...] = ()
    srtp: Srtp = "off"

    @classmethod
    def from_api(cls, members: Mapping[str, Any]) -> Self:
        """Read the API's object; unknown members are ignored.

        A trunk of SIP whose address is that of a provider's API is a trunk of that provider.

        Raises:
            ValueError: a member is missing or has a value that no trunk can have.
        """
        kind, host = str(members.get("kind") or "sip"), str(members.get("address") or "")
        if kind == "sip" and host in PROVIDERS:
            return cls.from_api({**members, "kind": PROVIDERS[host], "address": ""})
        if members.get("trunk_id") is None or (kind == "sip" and not members.get("address")):
            raise ValueError("a trunk needs trunk_id and address")
        transport: SipTransportName = members.get("transport") or "udp"
        if transport not in get_args(SipTransportName):
            raise ValueError(f"transport is {transport!r}, neither udp, tcp nor tls")
        address, proxy = str(members.get("address") or ""), members.get("outbound_proxy")
        by_address = members.get("inbound_authorization_type") == "ip"
        username = str(members.get("username") or "")
        allowed = members.get("allowed_inbound_ips") or () if by_address else ()
        return cls(
            trunk_id=str(members["trunk_id"]),
            address=address,
            kind=kind,
            from_=str(members.get("from") or ""),
            dial=str(members.get("dial") or ""),
            transport=transport,
            username=username,
            password=str(members.get("password") or ""),
            outbound_proxy=address if proxy is True else str(proxy or ""),
            register=kind == "sip" and bool(members.get("register", username and not by_address)),
            allowed_inbound_ips=tuple(ip_network(text, strict=False) for text in allowed),
            srtp=members.get("srtp") or ("optional" if transport == "tls" else "off"),
        )

    def __repr__(self) -> str:
        """Show everything but the password."""
        return f"Telephony(trunk_id={self.trunk_id!r}, address={self.address!r}, from_={self.from_!r})"


def account_of(telephony: Telephony) -> dict[str, str]:
    """Return the members by which a provider's account is reached, as JSON."""
    names = ("trunk_id", "address", "username", "password")
    return {name: getattr(telephony, name) for name in names}


class TrunkState(StrEnum):
    """What is known of a trunk from using it."""

    REGISTERED = "registered"
    LOST = "lost"
    REFUSED = "refused"
    WRONG_CREDENTIALS = "wrong-credentials"


@dataclass(frozen=True)
class TrunkStatus:
    """A change of a trunk's state; `detail` is a sentence for the user that says what to do, without a password."""

    trunk_id: str
    state: TrunkState
    detail: str = ""


OnTrunk = Callable[[TrunkStatus], None]
"""Told of each change of a trunk's state."""


async def until_ended(queue: asyncio.Queue[LineEvent]) -> AsyncIterator[LineEvent]:
    """Yield the events of a line, for one reader; ends after `Ended`."""
    while True:
        event = await queue.get()
        yield event
        if isinstance(event, Ended):
            return


@runtime_checkable
class Line(Protocol):
    """One call, from before it is answered until it is over."""

    @property
    def external_id(self) -> str:
        """The network's id of the call: the SIP Call-ID, or the provider's."""

    @property
    def transport(self) -> "BaseTransport":
        """The ends of the pipeline, usable before the answer: audio written earlier waits for it."""

    @property
    def events(self) -> AsyncIterator[LineEvent]:
        """Everything that happens to the line, for one reader; ends after `Ended`."""

    async def send_dtmf(self, digits: str) -> None:
        """Press keys; returns when the last was released. Raises `LegError`, and `ValueError` for another character."""

    async def hold(self) -> None:
        """Put the customer on hold. Raises `LegError`."""

    async def resume(self) -> None:
        """Take the customer off hold. Raises `LegError`."""

    async def transfer(
        self, to: str, mode: TransferMode = "blind", *, consultation: "Line | None" = None
    ) -> Transferred:
        """Hand the customer to `to`, and say what came of it, which is also an event.

        `warm` hands the customer to the other end of `consultation`, an answered line of the same leg. Raises
        `LegError` where the line is not up or a transfer is under way.
        """

    async def hangup(self) -> None:
        """End the line, answered or not; does nothing on one that is over."""


class Arrival(Protocol):
    """A call to us that rings."""

    @property
    def line(self) -> Line:
        """Its line; make the pipeline while it rings."""

    @property
    def from_(self) -> str:
        """The caller as the network told it: a number, an extension, `anonymous`."""

    @property
    def to(self) -> str:
        """The called number as the network wrote it."""

    @property
    def external_id(self) -> str:
        """As of `Line`."""

    @property
    def trunk_id(self) -> str:
        """The trunk that let the call in."""

    @property
    def token(self) -> str:
        """What a browser showed to prove itself; empty of telephones."""

    async def ring(self) -> None:
        """Let the caller hear ringing, where the network does not already."""

    async def answer(self) -> Line:
        """Answer; audio flows from the line's `Answered` on. Raises `LegError` where the caller has gone."""

    async def reject(self, status: int = 486) -> None:
        """Refuse with a final SIP status of 400 to 699; does nothing when the caller has gone or was answered."""


@runtime_checkable
class TrunkChecker(Protocol):
    """A leg that can say what is wrong with a trunk."""

    async def check(self, trunk: Telephony) -> list[CheckStep]:
        """Resolve the trunk's address, reach it, and see whether it takes the credentials: the steps, in order.

        Each takes 4 s at most; those after one that failed are not tried. Nothing changes at the trunk.
        """


class Leg(Protocol):
    """A way to telephones or browsers."""

    @property
    def refused(self) -> Mapping[str, int]:
        """How many calls, or requests about calls, it has refused by itself, by reason."""

    async def start(self) -> None:
        """Open its ports. Raises `LegError`."""

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Call `to`; returns before it rings. Raises `LegError` where no call can be placed at all."""

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        """Let in the calls of exactly these trunks, and register with those that want it; other kinds are left out."""

    def incoming(self) -> AsyncIterator[Arrival]:
        """Calls to us, for one reader; ends with `stop`. Raises `LegError` where the leg dies or is worn out."""

    async def stop(self) -> None:
        """Hang up all lines and close the ports."""
