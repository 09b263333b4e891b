"""Which calls to us may ring: by the sender's address, or by a digest (RFC 7616) with a trunk's password.

Everybody else is refused with the same words, whatever was wrong, and counted. Nothing here does I/O; all times are
arguments.
"""

import hashlib
import hmac
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address

from ..leg import Telephony
from . import digest
from .message import Message, user
from .native import Refusal

REALM = "switchboard"
NONCE_LIFE_S = 60
ACCEPTED_MAX = 4096  # calls admitted and not yet taken over by the leg; beyond, the oldest are forgotten
FORBIDDEN = Refusal(403, "Forbidden")


@dataclass(frozen=True)
class Admitted:
    """What an admitted INVITE said: users of its addresses, and the trunk that let it in."""

    trunk_id: str
    from_: str
    to: str


def digits(number: str) -> str:
    """Return a number without what trunks write differently: the plus sign and leading zeros."""
    return number.lstrip("+").lstrip("0")


class Admission:
    """Decides on INVITEs. `decide` and `registered` run in the SIP thread, `trunks` is replaced whole by the loop's."""

    def __init__(self, secret: bytes | None = None) -> None:
        """Start with no trunk; `secret` makes nonces reproducible in tests."""
        self._secret = secret or secrets.token_bytes(32)
        self._trunks: tuple[Telephony, ...] = ()
        self._registrars: dict[str, str] = {}
        self._admitted: dict[str, Admitted] = {}
        self.refused: Counter[str] = Counter()

    @property
    def trunks(self) -> tuple[Telephony, ...]:
        """The trunks that may call us."""
        return self._trunks

    @trunks.setter
    def trunks(self, trunks: Iterable[Telephony]) -> None:
        self._trunks = tuple(trunks)

    def registered(self, address_of_record: str, registrar: str) -> None:
        """Note the IP address that we sent a registration to: its calls are let in, on our own word."""
        self._registrars[address_of_record] = registrar

    def take(self, call_id: str) -> Admitted | None:
        """Return, once, what was admitted under a Call-ID."""
        return self._admitted.pop(call_id, None)

    def decide(self, invite: Message, source: str, now: float) -> Refusal | None:
        """Let an INVITE ring (None), or say how it is refused.

        Args:
            invite: the request.
            source: the IP address that it came from.
            now: seconds of a clock that only moves on.
        """
        address = ip_address(source.partition("%")[0])
        by_address = [trunk for trunk in self._trunks if self._knows(trunk, address)]
        if by_address:
            self._admit(invite, self._best(by_address, invite))
            return None
        with_digest = [trunk for trunk in self._trunks if trunk.username and trunk.password]
        authorization = invite.headers.get("authorization", "")
        if not with_digest:
            return self._refuse("address")
        if not authorization.lower().startswith("digest "):
            self.refused["challenged"] += 1
            return self._challenge(invite, source, now)
        return self._by_digest(invite, source, now, with_digest)

    def _knows(self, trunk: Telephony, address: IPv4Address | IPv6Address) -> bool:
        if any(address in network for network in trunk.allowed_inbound_ips):
            return True
        return trunk.register and self._registrars.get(f"{trunk.username}@{trunk.address}") == str(address)

    @staticmethod
    def _best(trunks: list[Telephony], invite: Message) -> Telephony:
        """Pick the trunk whose number or registered user is called; a sender may carry several numbers."""
        called = (user(invite.request_uri), user(invite.headers.get("to", "")))
        for trunk in trunks:
            if digits(trunk.from_) in map(digits, called) or (trunk.register and called[0].startswith(trunk.username)):
                return trunk
        return trunks[0]

    def _admit(self, invite: Message, trunk: Telephony) -> None:
        while len(self._admitted) >= ACCEPTED_MAX:
            del self._admitted[next(iter(self._admitted))]
        # A registered contact is no number: then the To header tells what was dialed.
        called = user(invite.request_uri)
        if trunk.register and called.startswith(trunk.username):
            called = user(invite.headers.get("to", "")) or called
        self._admitted[invite.call_id] = Admitted(trunk.trunk_id, user(invite.headers.get("from", "")), called)

    def _refuse(self, why: str) -> Refusal:
        self.refused[why] += 1
        return FORBIDDEN

    def _nonce(self, invite: Message, source: str, at: int) -> str:
        """Bind a nonce to its call and sender, so that it is worth nothing to another (RFC 7616 section 5.4)."""
        bound = f"{at}|{invite.call_id}|{source}".encode()
        return f"{at:x}.{hmac.new(self._secret, bound, hashlib.sha256).hexdigest()[:32]}"

    def _challenge(self, invite: Message, source: str, now: float) -> Refusal:
        nonce = self._nonce(invite, source, int(now))
        # MD5, since that is the one algorithm which every SIP system speaks (RFC 3261 section 22.4).
        challenge = f'WWW-Authenticate: Digest realm="{REALM}", nonce="{nonce}", qop="auth", algorithm=MD5\r\n'
        return Refusal(401, "Unauthorized", challenge)

    def _by_digest(self, invite: Message, source: str, now: float, trunks: list[Telephony]) -> Refusal | None:
        given = digest.parameters(invite.headers["authorization"])
        made_at = given.get("nonce", "").partition(".")[0]
        try:
            at = int(made_at, 16)
        except ValueError:
            return self._refuse("digest")
        if not hmac.compare_digest(given["nonce"].encode(), self._nonce(invite, source, at).encode()):
            return self._refuse("digest")
        if not 0 <= now - at <= NONCE_LIFE_S:
            self.refused["challenged"] += 1
            return self._challenge(invite, source, now)
        candidates = [trunk for trunk in trunks if trunk.username == given.get("username")]
        matching = [trunk for trunk in candidates if self._proves(given, invite.method, trunk)]
        if not matching:
            return self._refuse("digest")
        self._admit(invite, self._best(matching, invite))
        return None

    @staticmethod
    def _proves(given: dict[str, str], method: str, trunk: Telephony) -> bool:
        expected = digest.response(given, method, trunk.username, trunk.password)
        return hmac.compare_digest(given.get("response", "").encode(), expected.encode())
