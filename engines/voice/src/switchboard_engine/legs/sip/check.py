"""Says of a trunk what works: whether its address is found, whether it answers, and whether it takes the credentials.

All is asked beside the stack, from the address that it listens on, by the way that it would take. A registrar is asked
which contacts it has, with the trunk's credentials and none of ours (RFC 3261 section 10.2.3): whoever is registered
stays so.
"""

import asyncio
import contextlib
import logging
import secrets
import socket
import ssl
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack
from ipaddress import ip_address
from urllib.parse import quote

import dns.asyncresolver
import dns.exception
import dns.rdtypes.IN.SRV

from ...client.checks import CheckStep, StepName
from ..leg import LegError, Telephony
from ..settings import SipSettings
from . import account, digest
from .dialog import Hop
from .exchange import CHALLENGES, PORTS, Exchange, address, host_and_port, open_exchange
from .message import Message

_log = logging.getLogger(__name__)

STEP_S = 5.0
SRV_S = 2.0
HOPS_MAX = 3
"""Most addresses of a name that are tried; they share the time of the step."""
_SRV = {"udp": "_sip._udp", "tcp": "_sip._tcp", "tls": "_sips._tcp"}
_REASON_MAX = 60
_SUCCESSES = range(200, 300)
_REFUSALS = (401, 403, 407)
_resolving = ThreadPoolExecutor(2, "trunk-check")  # a resolver that hangs holds up nobody else


class CheckError(Exception):
    """A step failed; the message is its detail."""


async def check(trunk: Telephony, settings: SipSettings) -> list[CheckStep]:
    """Check a trunk from where the stack of these settings listens; see `TrunkChecker.check`."""
    async with AsyncExitStack() as stack:
        return await _Check(trunk, settings, stack).run()


class _Check:
    def __init__(self, trunk: Telephony, settings: SipSettings, stack: AsyncExitStack) -> None:
        self._trunk, self._settings, self._stack = trunk, settings, stack
        self._hops: list[Hop] = []
        self._exchange: Exchange | None = None
        self._answer: Message | None = None
        self._call_id = f"{secrets.token_hex(12)}@{settings.host}"
        self._tag = secrets.token_hex(6)
        self._sequence = 0

    async def run(self) -> list[CheckStep]:
        """Take the steps."""
        steps = [await self._step("resolve", self._resolve)]
        if steps[-1].ok:
            steps.append(await self._step("reach", self._reach))
        else:
            steps.append(CheckStep("reach", ok=False, detail="not tried: the address was not found"))
        if not steps[-1].ok:
            if self._trunk.register:
                steps.append(CheckStep("register", ok=False, detail="not tried: the trunk was not reached"))
        elif self._trunk.register:
            steps.append(await self._step("register", self._register))
        elif self._answer is not None and self._answer.status in CHALLENGES and self._trunk.password:
            steps.append(await self._step("register", self._prove))
        return steps

    async def _step(self, name: StepName, work: Callable[[], Awaitable[str]]) -> CheckStep:
        try:
            async with asyncio.timeout(STEP_S):
                return CheckStep(name, ok=True, detail=await work())
        except CheckError as error:
            return CheckStep(name, ok=False, detail=str(error))
        except TimeoutError:
            return CheckStep(name, ok=False, detail=f"There was no answer within {STEP_S:.0f} s.")
        except OSError as error:
            _log.info("trunk %s: %s failed: %s", self._trunk.trunk_id, name, error)
            return CheckStep(name, ok=False, detail=_said_of(error))

    async def _resolve(self) -> str:
        """Find the addresses as the stack does when it dials: with a port, by A and AAAA alone, else by SRV first."""
        try:
            host, port = host_and_port(self._next_hop)
            account.calling(self._trunk)
        except ValueError as error:
            raise CheckError(f"The address is none: {error}.") from error
        except LegError as error:  # it may quote any member
            raise CheckError("The trunk has a member with characters that SIP cannot carry.") from error
        with contextlib.suppress(ValueError):
            self._hops = [(str(ip_address(host)), port or PORTS[self._trunk.transport])]
            return f"The address is {address(*self._hops[0])}."
        servers = [(host, port)] if port else await self._servers(host)
        for name, at in servers:
            self._hops += [(found, at) for found in await self._addresses(name)]
        self._hops = self._hops[:HOPS_MAX]
        if not self._hops:
            family = "IPv6" if ":" in self._settings.host else "IPv4"
            raise CheckError(f"{host} has no {family} address.")
        return f"{host} is at {', '.join(address(*hop) for hop in self._hops)}."

    @property
    def _next_hop(self) -> str:
        return self._trunk.outbound_proxy or self._trunk.address

    async def _servers(self, host: str) -> list[tuple[str, int]]:
        """Return names and ports by SRV (RFC 3263 section 4.2), or the host itself."""
        try:
            answer = await dns.asyncresolver.resolve(f"{_SRV[self._trunk.transport]}.{host}", "SRV", lifetime=SRV_S)
        except (dns.exception.DNSException, OSError):
            return [(host, PORTS[self._trunk.transport])]
        records = [record for record in answer if isinstance(record, dns.rdtypes.IN.SRV.SRV)]
        records.sort(key=lambda record: (record.priority, -record.weight))
        return [(str(record.target).rstrip("."), record.port) for record in records[:HOPS_MAX]]

    async def _addresses(self, host: str) -> list[str]:
        family = socket.AF_INET6 if ":" in self._settings.host else socket.AF_INET

        def look_up() -> list[str]:
            try:
                found = socket.getaddrinfo(host, None, family, socket.SOCK_DGRAM)
            except (OSError, UnicodeError):
                return []
            return list(dict.fromkeys(str(entry[4][0]) for entry in found))

        return await asyncio.get_running_loop().run_in_executor(_resolving, look_up)

    async def _reach(self) -> str:
        """Send OPTIONS to one address after the other."""
        failure: Exception = CheckError("There is no address.")
        for hop in self._hops:
            try:
                async with asyncio.timeout(STEP_S / len(self._hops) if len(self._hops) > 1 else None):
                    self._exchange = await self._stack.enter_async_context(
                        open_exchange(hop, self._trunk.transport, self._settings.host, context=self._context(),
                                      name=host_and_port(self._next_hop)[0])
                    )  # fmt: skip
                    self._answer = await self._ask("OPTIONS")
            except (OSError, TimeoutError) as error:
                failure = error
                continue
            return f"{address(*hop)} answers by {self._trunk.transport.upper()} ({_status_of(self._answer)})."
        raise failure

    def _context(self) -> ssl.SSLContext | None:
        if self._trunk.transport != "tls":
            return None
        context = ssl.create_default_context(cafile=self._settings.ca_file or None)
        if self._settings.certificate:
            context.load_cert_chain(self._settings.certificate)
        return context

    async def _register(self) -> str:
        answer = await self._authorized("REGISTER", await self._ask("REGISTER"))
        if answer.status in _SUCCESSES:
            return "The registrar accepts the user name and password."
        raise CheckError(f"The registrar refuses the registration ({_status_of(answer)}).")

    async def _prove(self) -> str:
        assert self._answer is not None  # noqa: S101 - it was reached
        await self._authorized("OPTIONS", self._answer)
        return "The trunk accepts the user name and password."

    async def _authorized(self, method: str, answer: Message) -> Message:
        """Answer a challenge, once; raises `CheckError` where the credentials are refused."""
        if answer.status not in CHALLENGES:
            return answer
        if not self._trunk.username or not self._trunk.password:
            raise CheckError(f"A password is asked for, and the trunk has none ({_status_of(answer)}).")
        asked, given = CHALLENGES[answer.status]
        challenge = next(filter(digest.is_known, answer.all(asked)), None)
        if challenge is None:
            raise CheckError(f"The trunk asks for a proof that this engine cannot give ({_status_of(answer)}).")
        value = digest.credentials(challenge, method, self._uri, self._trunk.username, self._trunk.password)
        again = await self._ask(method, f"{given}: {value}\r\n")
        if again.status in _REFUSALS:
            raise CheckError(f"The user name or password is wrong ({_status_of(again)}).")
        return again

    @property
    def _uri(self) -> str:
        return f"sip:{self._trunk.address}"

    async def _ask(self, method: str, header: str = "") -> Message:
        assert self._exchange is not None  # noqa: S101 - it was reached
        self._sequence += 1
        trunk, sent_by = self._trunk, self._exchange.sent_by
        user = quote(trunk.username or trunk.from_ or "anonymous", safe="+*")
        ours = f"sip:{user}@{trunk.address}"
        theirs = ours if method == "REGISTER" else self._uri
        branch = f"SIP/2.0/{trunk.transport.upper()} {sent_by};branch=z9hG4bK{secrets.token_hex(8)};rport"
        proxy = account.route(trunk)
        route = f"Route: <{proxy}>\r\n" if proxy else ""
        request = (
            f"{method} {self._uri} SIP/2.0\r\nVia: {branch}\r\nMax-Forwards: 70\r\n{route}"
            f"From: <{ours}>;tag={self._tag}\r\nTo: <{theirs}>\r\nCall-ID: {self._call_id}\r\n"
            f"CSeq: {self._sequence} {method}\r\n{header}Content-Length: 0\r\n\r\n"
        )
        return await self._exchange.ask(request, self._call_id, self._sequence)


def _status_of(answer: Message) -> str:
    """Return status and reason, of whose length and characters the trunk must not decide."""
    reason = "".join(filter(str.isprintable, answer.start[2]))[:_REASON_MAX]
    return f"{answer.status} {reason}".strip()


def _said_of(error: OSError) -> str:
    match error:
        case ssl.SSLCertVerificationError():
            return f"The certificate is not trusted: {error.verify_message}."
        case ssl.SSLError():
            return f"There is no TLS: {error.reason or 'the handshake failed'}."
        case ConnectionRefusedError():
            return "Nothing listens there."
        case _:
            return f"The network refuses: {error.strerror or error}."
