"""A scripted SIP user agent (RFC 3261) over UDP on loopback: the other side in the tests of the SIP leg.

It shares no code with what it tests. A test drives it step by step: `call` or `taken`, then the methods of `Dialog`.
"""

import asyncio
import hashlib
import re
import secrets
from dataclasses import dataclass, field
from typing import Self

from .media import Media

WAIT_S = 10.0


@dataclass(frozen=True)
class Sip:
    """A message; header names in lower case, all values of a name in order."""

    first: str
    headers: dict[str, list[str]]
    body: str

    @classmethod
    def parse(cls, datagram: bytes) -> Self:
        """Parse a datagram that is known to be SIP."""
        head, _, body = datagram.decode().partition("\r\n\r\n")
        first, *lines = head.split("\r\n")
        headers: dict[str, list[str]] = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers.setdefault(name.strip().lower(), []).append(value.strip())
        return cls(first, headers, body)

    def __getitem__(self, name: str) -> str:
        """Return the first header of a name, empty where there is none."""
        return self.headers.get(name, [""])[0]

    @property
    def method(self) -> str:
        """The method, also of what a response answers."""
        return self["cseq"].split(" ")[1]

    @property
    def status(self) -> int:
        """The status of a response, 0 of a request."""
        return int(self.first.split(" ")[1]) if self.first.startswith("SIP/2.0") else 0


def tag_of(header: str) -> str:
    """Return the tag of a From or To header."""
    found = re.search(r";tag=([^;>\s]+)", header)
    return found[1] if found else ""


def uri_of(header: str) -> str:
    """Return the URI in a header's value."""
    found = re.search(r"<([^>]+)>", header)
    return found[1] if found else header.partition(";")[0]


def digest(challenge: str, method: str, uri: str, username: str, password: str) -> str:
    """Return the credentials for a challenge (RFC 2617, MD5, with or without qop)."""
    given = dict(re.findall(r'(\w+)="?([^",]+)"?', challenge))

    def md5(text: str) -> str:
        return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()

    secret, request = md5(f"{username}:{given['realm']}:{password}"), md5(f"{method}:{uri}")
    middle, extra = given["nonce"], ""
    if "qop" in given:
        middle, extra = f"{given['nonce']}:00000001:c0ffee:auth", ', qop=auth, nc=00000001, cnonce="c0ffee"'
    response = md5(f"{secret}:{middle}:{request}")
    return (
        f'Digest username="{username}", realm="{given["realm"]}", nonce="{given["nonce"]}", uri="{uri}", '
        f'response="{response}", algorithm=MD5{extra}'
    )


def response_with(nonce: str, given: dict[str, str], method: str, username: str, password: str) -> str:
    """Return the response that credentials with qop must have, for the realm `peer`."""
    parts = (f"{username}:peer:{password}", f"{method}:{given['uri']}")
    secret, request = (hashlib.md5(part.encode(), usedforsecurity=False).hexdigest() for part in parts)
    joined = f"{secret}:{nonce}:{given['nc']}:{given['cnonce']}:{given['qop']}:{request}"
    return hashlib.md5(joined.encode(), usedforsecurity=False).hexdigest()


class Peer(asyncio.DatagramProtocol):
    """A user agent, and a registrar for those who register with it."""

    def __init__(self) -> None:
        """Make one; `start` opens its port."""
        self.taken_calls: asyncio.Queue[Dialog] = asyncio.Queue()
        self.dialogs: dict[str, Dialog] = {}
        self.seen: list[Sip] = []
        self.credentials: tuple[str, str] | None = None  # asked for on INVITE and REGISTER
        self.registrar_status = 200
        self.asks_options = False  # for credentials, too
        self.expires_s = 60
        self.contacts: dict[str, str] = {}
        self.refer_status, self.notify_status = 202, 200
        self.registrations = 0
        self.deregistered = asyncio.Event()
        self._transport: asyncio.DatagramTransport | None = None
        self._nonce = secrets.token_hex(8)

    @classmethod
    async def start(cls) -> Self:
        """Open a port of 127.0.0.1."""
        peer = cls()
        transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: peer, ("127.0.0.1", 0))
        peer._transport = transport
        return peer

    def close(self) -> None:
        """Close the port and all media."""
        for dialog in self.dialogs.values():
            dialog.media.close()
        if self._transport is not None:
            self._transport.close()

    @property
    def port(self) -> int:
        """Its port."""
        assert self._transport is not None
        return int(self._transport.get_extra_info("sockname")[1])

    @property
    def address(self) -> str:
        """Its `host:port`, as a trunk's address."""
        return f"127.0.0.1:{self.port}"

    def send(self, text: str, destination: tuple[str, int]) -> None:
        """Send a message."""
        assert self._transport is not None
        self._transport.sendto(text.encode(), destination)

    async def taken(self) -> "Dialog":
        """Return the next call to this peer."""
        return await asyncio.wait_for(self.taken_calls.get(), WAIT_S)

    async def call(
        self,
        uri: str,
        destination: tuple[str, int],
        *,
        user: str = "+15550100",
        to: str = "",
        credentials: tuple[str, str] | None = None,
        challenge: str = "",
    ) -> "Dialog":
        """Send INVITE, answering one challenge, or an older one; returns after the first response."""
        dialog = Dialog.outside(self, uri, destination, user=user)
        dialog.remote = to or dialog.remote
        await dialog.invite(credentials=credentials, challenge=challenge)
        return dialog

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        """Take a message."""
        if not data.strip():
            return
        message = Sip.parse(data)
        self.seen.append(message)
        if message.method == "REGISTER":
            self._register(message, addr)
            return
        dialog = self.dialogs.get(message["call-id"])
        if dialog is None and message.status == 0:
            if message.method != "INVITE":
                is_asked = message.method == "OPTIONS" and self.asks_options
                is_let = not is_asked or self._authorized(message, addr, "WWW-Authenticate", "authorization")
                if is_let and message.method != "ACK":
                    self.respond(message, addr, 200 if message.method == "OPTIONS" else 481)
                return
            if not self._authorized(message, addr, "WWW-Authenticate", "authorization"):
                return
            dialog = Dialog(self, message["call-id"], addr, Media(), target=uri_of(message["contact"]))
            dialog.remote, dialog.local = message["from"], f"{message['to']};tag={secrets.token_hex(4)}"
            self.dialogs[dialog.call_id] = dialog
            dialog.offered(message)
            self.taken_calls.put_nowait(dialog)
        elif dialog is not None:
            dialog.take(message, addr)

    def respond(
        self,
        request: Sip,
        destination: tuple[str, int],
        status: int,
        *,
        to: str = "",
        headers: str = "",
        body: str = "",
    ) -> None:
        """Answer a request."""
        copied = "".join(f"Via: {via}\r\n" for via in request.headers.get("via", []))
        routes = "".join(f"Record-Route: {route}\r\n" for route in request.headers.get("record-route", []))
        kind = "Content-Type: application/sdp\r\n" if body else ""
        self.send(
            f"SIP/2.0 {status} {REASONS.get(status, 'Because')}\r\n{copied}{routes}From: {request['from']}\r\n"
            f"To: {to or request['to']}\r\nCall-ID: {request['call-id']}\r\nCSeq: {request['cseq']}\r\n"
            f"{headers}{kind}Content-Length: {len(body)}\r\n\r\n{body}",
            destination,
        )

    def _authorized(self, request: Sip, addr: tuple[str, int], challenge: str, header: str) -> bool:
        if self.credentials is None:
            return True
        username, password = self.credentials
        asked = f'Digest realm="peer", nonce="{self._nonce}", qop="auth", algorithm=MD5'
        given = dict(re.findall(r'(\w+)="?([^",]+)"?', request[header]))
        if given:
            made = digest(asked, request.method, given["uri"], username, password)
            if "qop" in given:
                made = response_with(self._nonce, given, request.method, username, password)
            if given["username"] == username and given["response"] in made:
                return True
        to = request["to"] if "tag=" in request["to"] else f"{request['to']};tag=refused"
        self.respond(request, addr, 401, to=to, headers=f"{challenge}: {asked}\r\n")
        return False

    def _register(self, request: Sip, addr: tuple[str, int]) -> None:
        self.registrations += 1
        if self.registrar_status == 0:
            return  # as if it were gone
        if self.registrar_status != 200:
            self.respond(request, addr, self.registrar_status, to=f"{request['to']};tag=r")
        elif self._authorized(request, addr, "WWW-Authenticate", "authorization"):
            known = self.contacts.get(uri_of(request["to"]), "")
            contact = uri_of(request["contact"]) or known  # none only asks (RFC 3261 section 10.2.3)
            if "expires=0" in request["contact"]:
                self.deregistered.set()
            self.contacts[uri_of(request["to"])] = contact
            self.respond(
                request, addr, 200, to=f"{request['to']};tag=r",
                headers=f"Contact: <{contact}>;expires={self.expires_s}\r\nExpires: {self.expires_s}\r\n",
            )  # fmt: skip


REASONS = {
    100: "Trying", 180: "Ringing", 183: "Session Progress", 200: "OK", 202: "Accepted", 401: "Unauthorized",
    403: "Forbidden", 404: "Not Found", 480: "Temporarily Unavailable", 481: "No Such Call", 486: "Busy Here",
    487: "Request Terminated", 503: "Service Unavailable", 603: "Decline",
}  # fmt: skip


@dataclass
class Dialog:
    """One call of the peer, either way. `local` and `remote` are its From and To headers."""

    peer: Peer
    call_id: str
    destination: tuple[str, int]
    media: Media
    target: str
    local: str = ""
    remote: str = ""
    direction: str = "sendrecv"
    sequence: int = 100
    invite_request: Sip | None = None
    requests: "asyncio.Queue[Sip]" = field(default_factory=asyncio.Queue)
    responses: "asyncio.Queue[Sip]" = field(default_factory=asyncio.Queue)
    offers: list[str] = field(default_factory=list)
    confirmed: asyncio.Event = field(default_factory=asyncio.Event)
    _branch: str = ""

    @classmethod
    def outside(cls, peer: Peer, uri: str, destination: tuple[str, int], *, user: str = "peer") -> Self:
        """Begin one, or a request of its own."""
        dialog = cls(peer, f"{secrets.token_hex(8)}@peer", destination, Media(), target=uri)
        dialog.local = f"<sip:{user}@{peer.address}>;tag={secrets.token_hex(4)}"
        dialog.remote = f"<{uri}>"
        peer.dialogs[dialog.call_id] = dialog
        return dialog

    def sdp(self, direction: str | None = None) -> str:
        """Return its session description (RFC 4566)."""
        return (
            f"v=0\r\no=peer 1 {self.sequence} IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\n"
            f"m=audio {self.media.port} RTP/AVP 0 101\r\na=rtpmap:0 PCMU/8000\r\n"
            f"a=rtpmap:101 telephone-event/8000\r\na=fmtp:101 0-15\r\na=ptime:20\r\na={direction or self.direction}\r\n"
        )

    def offered(self, message: Sip) -> None:
        """Take an INVITE's offer."""
        self.invite_request = message
        self._take_sdp(message)

    def _take_sdp(self, message: Sip) -> None:
        address = re.search(r"^c=IN IP4 (\S+)", message.body, re.MULTILINE)
        port = re.search(r"^m=audio (\d+)", message.body, re.MULTILINE)
        if address and port:
            self.offers.append(message.body)
            self.media.start((address[1], int(port[1])))

    def respond(self, status: int, *, with_sdp: bool = False) -> None:
        """Answer the INVITE."""
        assert self.invite_request is not None
        contact = f"Contact: <sip:peer@{self.peer.address}>\r\nSupported: replaces\r\n" if status < 300 else ""
        body = self.sdp() if with_sdp else ""
        self.peer.respond(self.invite_request, self.destination, status, to=self.local, headers=contact, body=body)

    async def answer(self, ring_s: float = 0.0) -> None:
        """Ring, answer and wait for the ACK."""
        self.respond(180)
        await asyncio.sleep(ring_s)
        self.respond(200, with_sdp=True)
        await asyncio.wait_for(self.confirmed.wait(), WAIT_S)

    def request(self, method: str, *, headers: str = "", body: str = "", sequence: int | None = None) -> None:
        """Send a request of this dialog."""
        if sequence is None:
            self.sequence += 1
            self._branch = f"z9hG4bK{secrets.token_hex(6)}"
        kind = "Content-Type: application/sdp\r\n" if body and "Content-Type" not in headers else ""
        self.peer.send(
            f"{method} {self.target} SIP/2.0\r\nVia: SIP/2.0/UDP {self.peer.address};branch={self._branch};rport\r\n"
            f"Max-Forwards: 70\r\nFrom: {self.local}\r\nTo: {self.remote}\r\nCall-ID: {self.call_id}\r\n"
            f"CSeq: {sequence or self.sequence} {method}\r\nContact: <sip:peer@{self.peer.address}>\r\n"
            f"Supported: replaces\r\n{headers}{kind}Content-Length: {len(body)}\r\n\r\n{body}",
            self.destination,
        )

    async def invite(
        self, *, credentials: tuple[str, str] | None = None, challenge: str = "", direction: str | None = None
    ) -> Sip:
        """Send INVITE or re-INVITE; returns the first response that is not 100 and no answered challenge."""
        self.request("INVITE", body=self.sdp(direction))
        response = await self.response()
        if response.status == 401 and credentials is not None:
            authorization = digest(challenge or response["www-authenticate"], "INVITE", self.target, *credentials)
            self.request("INVITE", headers=f"Authorization: {authorization}\r\n", body=self.sdp(direction))
            response = await self.response()
        self.last = response
        return response

    async def final(self) -> Sip:
        """Return the final response to the INVITE."""
        while self.last.status < 200:
            self.last = await self.response()
        return self.last

    async def response(self) -> Sip:
        """Return the next response but 100."""
        return await asyncio.wait_for(self.responses.get(), WAIT_S)

    async def expect(self, method: str) -> Sip:
        """Return the next request of a method, passing over others."""
        while True:
            request = await asyncio.wait_for(self.requests.get(), WAIT_S)
            if request.method == method:
                return request

    def bye(self) -> None:
        """Hang up."""
        self.request("BYE")

    def cancel(self) -> None:
        """Give up while it rings: CANCEL has the INVITE's branch and number."""
        self.request("CANCEL", sequence=self.sequence)

    def take(self, message: Sip, source: tuple[str, int]) -> None:
        """Take a message of this dialog; a request is answered to where it came from (RFC 3581)."""
        if message.status:
            self._take_response(message)
        else:
            self._take_request(message, source)

    def _take_response(self, message: Sip) -> None:
        if message.method == "INVITE" and message.status >= 200:
            if message.status < 300:
                self.remote = message["to"]
                self.target = uri_of(message["contact"])
                self._take_sdp(message)
            kept = (self.remote, self._branch)
            self.remote = message["to"]
            if message.status < 300:
                self._branch = f"z9hG4bK{secrets.token_hex(6)}"
            self.request("ACK", sequence=int(message["cseq"].split(" ")[0]))
            self.remote, self._branch = (self.remote if message.status < 300 else kept[0]), kept[1]
            if message.status < 300:
                self.confirmed.set()
        if message.status != 100:
            self.responses.put_nowait(message)

    def _take_request(self, message: Sip, source: tuple[str, int]) -> None:
        self.requests.put_nowait(message)
        match message.method:
            case "ACK":
                self.confirmed.set()
            case "INVITE":
                self._reoffered(message, source)
            case "CANCEL":
                self.peer.respond(message, source, 200, to=self.local)
                self.respond(487)
            case "REFER":
                self._referred(message, source)
            case _:
                self.peer.respond(message, source, 200)
                if message.method == "BYE":
                    self.media.close()

    def _reoffered(self, message: Sip, source: tuple[str, int]) -> None:
        if not tag_of(message["to"]):
            return  # the first INVITE once more
        self.invite_request = message
        self._take_sdp(message)
        offered = re.search(r"^a=(sendonly|recvonly|inactive|sendrecv)", message.body, re.MULTILINE)
        self.direction = {"sendonly": "recvonly", "recvonly": "sendonly", "inactive": "inactive"}.get(
            offered[1] if offered else "", "sendrecv"
        )
        self.peer.respond(
            message,
            source,
            200,
            headers=f"Contact: <sip:peer@{self.peer.address}>\r\nSupported: replaces\r\n",
            body=self.sdp(),
        )

    def _referred(self, message: Sip, source: tuple[str, int]) -> None:
        self.peer.respond(
            message,
            source,
            self.peer.refer_status,
            headers=f"Contact: <sip:peer@{self.peer.address}>\r\nSupported: replaces\r\n",
        )
        if self.peer.refer_status >= 300:
            return
        for status, state in ((100, "active"), (self.peer.notify_status, "terminated;reason=noresource")):
            self.request(
                "NOTIFY",
                headers=f"Event: refer\r\nSubscription-State: {state}\r\nContent-Type: message/sipfrag\r\n",
                body=f"SIP/2.0 {status} {REASONS.get(status, 'Because')}\r\n",
            )
