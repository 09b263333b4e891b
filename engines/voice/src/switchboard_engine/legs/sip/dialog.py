"""Follows the calls of the stack on the wire, so that another process can end those of one that died.

What is told of a call is all that its end needs: BYE for one that is up, CANCEL for one of ours that rings, a refusal
for one that rings here. Nothing here does I/O.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from .message import Message

CALLS_MAX = 4096
CONTACTS_MAX = 1024  # calls to us that do not ring yet

Hop = tuple[str, int]
"""IP address and port."""


@dataclass(frozen=True)
class Call:
    """How to end a call: `local` and `remote` are our side's and the other's From or To, `hops` where it was heard."""

    end: Literal["BYE", "CANCEL", "refuse"]
    call_id: str
    local: str
    remote: str
    target: str
    cseq: int
    transport: str
    hops: tuple[Hop, ...]
    routes: tuple[str, ...] = ()
    vias: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> "Call":
        """Read what `data` returned, with other members beside."""
        members = {name: data[name] for name in cls.__dataclass_fields__}
        members["hops"] = tuple((str(host), int(port)) for host, port in data["hops"])
        return cls(**members | {"routes": tuple(data["routes"]), "vias": tuple(data["vias"])})


class Calls:
    """The calls on one stack. `tell` gets each by its Call-ID when something of it changes, and None at its end."""

    def __init__(self, tell: Callable[[str, Call | None], None]) -> None:
        """Begin with none."""
        self._tell = tell
        self._calls: OrderedDict[str, Call] = OrderedDict()
        self._contacts: OrderedDict[str, str] = OrderedDict()

    def take(self, content: bytes, *, sent: bool, hop: Hop, transport: str) -> None:
        """Take a message: of a sent one `hop` is its receiver, else its sender."""
        if not content.startswith((b"INVITE ", b"ACK ", b"BYE ", b"SIP/2.0 ", b"REFER ", b"INFO ", b"UPDATE ")):
            return
        message = Message.parse(content)
        if message is None or not message.call_id:
            return
        if message.is_response:
            self._response(message, sent=sent, hop=hop, transport=transport)
        elif sent:
            self._request_of_ours(message, hop, transport)
        elif message.method == "INVITE":
            self._invited(message)

    def _request_of_ours(self, message: Message, hop: Hop, transport: str) -> None:
        known = self._calls.get(message.call_id)
        headers = message.headers
        if message.method == "INVITE" and ";tag=" not in headers.get("to", ""):
            self._keep(
                Call(
                    "CANCEL", message.call_id, headers.get("from", ""), headers.get("to", ""), message.request_uri,
                    message.sequence, transport, (hop,), tuple(message.all("route")), tuple(message.all("via")[:1]),
                )
            )  # fmt: skip
        elif known is None or known.end != "BYE":
            return
        elif message.method == "ACK":
            # It goes where BYE must go (RFC 3261 section 13.2.2.4).
            self._keep(replace(known, hops=_first(hop, known.hops)))
        elif message.sequence > known.cseq:
            self._keep(replace(known, cseq=message.sequence))

    def _invited(self, message: Message) -> None:
        contact = _uri(message.headers.get("contact", ""))
        known = self._calls.get(message.call_id)
        if known is not None and known.end == "BYE":
            self._keep(replace(known, target=contact or known.target))
        elif known is None:
            self._contacts[message.call_id] = contact
            if len(self._contacts) > CONTACTS_MAX:
                self._contacts.popitem(last=False)

    def _response(self, message: Message, *, sent: bool, hop: Hop, transport: str) -> None:
        known, status = self._calls.get(message.call_id), message.status or 0
        if message.method == "BYE" and status >= 200:  # noqa: PLR2004 - a final response
            self._drop(message.call_id)
        elif message.method != "INVITE" or status <= 100:  # noqa: PLR2004 - it says nothing
            return
        elif status >= 300:  # noqa: PLR2004 - it refuses
            if known is None or known.end != "BYE":
                self._drop(message.call_id)
        elif sent:
            self._answered_by_us(message, known, hop, transport)
        elif known is not None and status >= 200:  # noqa: PLR2004 - it answers
            self._answered(message, known, hop)

    def _answered_by_us(self, message: Message, known: Call | None, hop: Hop, transport: str) -> None:
        if known is not None and known.end == "BYE":
            return
        is_up = (message.status or 0) >= 200  # noqa: PLR2004 - a final response
        headers, contact = message.headers, self._contacts.get(message.call_id, "")
        if is_up:
            self._contacts.pop(message.call_id, None)
        self._keep(
            Call(
                "BYE" if is_up else "refuse", message.call_id, headers.get("to", ""), headers.get("from", ""), contact,
                0 if is_up else message.sequence, transport, (hop,), _routes(message), tuple(message.all("via")),
            )
        )  # fmt: skip

    def _answered(self, message: Message, known: Call, hop: Hop) -> None:
        target = _uri(message.headers.get("contact", "")) or known.target
        if known.end == "BYE":
            self._keep(replace(known, target=target))
            return
        routes = tuple(reversed(_routes(message)))
        hops = _first(hop, known.hops)
        remote = message.headers.get("to", "")
        self._keep(replace(known, end="BYE", remote=remote, target=target, routes=routes, hops=hops, vias=()))

    def _keep(self, call: Call) -> None:
        if self._calls.get(call.call_id) == call:
            return
        self._calls[call.call_id] = call
        self._tell(call.call_id, call)
        if len(self._calls) > CALLS_MAX:
            self._drop(next(iter(self._calls)))

    def _drop(self, call_id: str) -> None:
        self._contacts.pop(call_id, None)
        if self._calls.pop(call_id, None) is not None:
            self._tell(call_id, None)


def _first(hop: Hop, hops: tuple[Hop, ...]) -> tuple[Hop, ...]:
    return (hop, *(other for other in hops if other != hop))


def _uri(contact: str) -> str:
    found = re.search(r"<([^>]+)>", contact)
    return found[1] if found else contact.partition(";")[0].strip()


def _routes(message: Message) -> tuple[str, ...]:
    return tuple(route for line in message.all("record-route") for route in re.findall(r"<[^>]*>[^,]*", line))
