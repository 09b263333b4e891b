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
from typing import Literal
from urllib.parse import quote

import dns.asyncresolver
import dns.exception
import dns.rdtypes.IN.SRV

from ...client.checks import RUNNING_MAX, CheckStep, StepName
from ..leg import LegError, Telephony
from ..settings import SipSettings
from . import account, diagnosis, digest
from .dialog import Hop
from .exchange import CHALLENGES, PORTS, Exchange, address, host_and_port, open_exchange
from .message import Message

_log = logging.getLogger(__name__)

STEP_S = 4.0
"""Three steps, and the close of as many connections, are what `client.checks` lets a check take."""
SRV_S = 2.0
HOPS_MAX = 3
"""Most addresses of a name that are tried; they share the time of the step."""
_SRV = {"udp": "_sip._udp", "tcp": "_sip._tcp", "tls": "_sips._tcp"}
_SUCCESSES = range(200, 300)
_REFUSALS = (401, 403, 407)
_NO_ANSWER: dict[StepName, Callable[[float], str]] = {
    "resolve": diagnosis.unresolved,
    "reach": diagnosis.no_answer,
    "register": diagnosis.no_answer_to_credentials,
}
_resolving = ThreadPoolExecutor(RUNNING_MAX, "trunk-check")  # a resolver that hangs holds up nobody else


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
            return CheckStep(name, ok=False, detail=_NO_ANSWER[name](STEP_S))
        except OSError as error:
            _log.info("trunk %s: %s failed: %s", self._trunk.trunk_id, name, error)
            return CheckStep(name, ok=False, detail=diagnosis.of_error(error, STEP_S))

    async def _resolve(self) -> str:
        """Find the addresses as the stack does when it dials: with a port, by A and AAAA alone, else by SRV first."""
        try:
            host, port = host_and_port(self._next_hop)
            account.calling(self._trunk)
        except ValueError as error:
            raise CheckError(f"The address is none: {error}.") from error
        except LegError as error:  # it may quote any member
            raise CheckError(diagnosis.UNSENDABLE) from error
        with contextlib.suppress(ValueError):
            self._hops = [(str(ip_address(host)), port or PORTS[self._trunk.transport])]
            return f"The address is {address(*self._hops[0])}."
        servers = [(host, port)] if port else await self._servers(host)
        for name, at in servers:
            self._hops += [(found, at) for found in await self._addresses(name)]
        self._hops = self._hops[:HOPS_MAX]
        if not self._hops:
            family = "IPv6" if ":" in self._settings.host else "IPv4"
            raise CheckError(f"{host} has no {family} address: check how it is written.")
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
            said = diagnosis.quoted(self._answer.status or 0, self._answer.start[2], self._trunk.password)
            return f"{address(*hop)} answers by {self._trunk.transport.upper()} ({said})."
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
        raise self._refused("registrar", answer)

    async def _prove(self) -> str:
        assert self._answer is not None  # noqa: S101 - it was reached
        answer = await self._authorized("OPTIONS", self._answer)
        if answer.status in _REFUSALS:
            raise self._refused("trunk", answer)
        return "The trunk accepts the user name and password."

    async def _authorized(self, method: str, answer: Message) -> Message:
        """Answer a challenge, once, where the trunk has credentials; raises `CheckError` for one of an unknown kind."""
        if answer.status not in CHALLENGES or not self._trunk.username or not self._trunk.password:
            return answer
        asked, given = CHALLENGES[answer.status]
        challenge = next(filter(digest.is_known, answer.all(asked)), None)
        if challenge is None:
            raise CheckError(diagnosis.unknown_proof(answer.status, answer.start[2], self._trunk))
        value = digest.credentials(challenge, method, self._uri, self._trunk.username, self._trunk.password)
        return await self._ask(method, f"{given}: {value}\r\n")

    def _refused(self, by: Literal["registrar", "trunk"], answer: Message) -> CheckError:
        return CheckError(diagnosis.of_answer(by, answer.status or 0, answer.start[2], self._trunk))

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
