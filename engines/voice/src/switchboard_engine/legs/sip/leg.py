"""SIP in the process: one stack, one port, any number of trunks, by the C library baresip.

baresip-python 0.5.2a3 is the newest release, and Pipecat 1.14 has no SIP transport of its own (a pull request to it
builds on the same library): this leg is on the library itself, so that admission, outcomes and pacing are ours.
"""

import asyncio
import contextlib
import logging
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping

from baresip import Account, BaresipError, Call, Config, Event, Runtime, StackEvent, UserAgent
from baresip.errors import split_status

from ...client.checks import CheckStep
from ...dialogs import dialogs
from ..leg import (
    RING_TIMEOUT_S,
    Arrival,
    Ended,
    LegError,
    Line,
    OnTrunk,
    Outcome,
    SipTransportName,
    Telephony,
    TrunkState,
    TrunkStatus,
)
from ..settings import SipSettings
from . import account, diagnosis, message
from .admission import Admission, Admitted
from .check import check
from .dialog import Call as WireCall
from .dialog import Calls
from .line import SipLine
from .native import Native, Packet, PublicAddress, Refusal
from .registration import Registrations

wire = logging.getLogger(f"{__package__}.wire")  # every SIP message, at DEBUG

CODECS_MAX = 1024  # Call-IDs whose codec is remembered
EARLY_CALLS_MAX = 64  # calls whose events came before the call itself was known
FINAL_REFUSALS = range(400, 700)
REASONS = {
    403: "Forbidden",
    404: "Not Found",
    480: "Temporarily Unavailable",
    486: "Busy Here",
    503: "Service Unavailable",
    603: "Decline",
}


def config(settings: SipSettings) -> Config:
    """Return the stack's own settings."""
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    lines = [
        f"sip_listen {host}:{settings.port}",
        f"rtp_ports {settings.rtp_ports[0]}-{settings.rtp_ports[1]}",
        f"audio_jitter_buffer_ms {settings.jitter_buffer_ms[0]}-{settings.jitter_buffer_ms[1]}",
        "sip_transports udp,tcp,tls",
        f"sip_cafile {settings.ca_file}",
        "sip_verify_server yes",
    ]
    if settings.stun_server:
        lines.append("module stun.so")
    if settings.certificate:
        lines.append(f"sip_certificate {settings.certificate}")
    return Config(
        net_interface=settings.host,
        max_concurrent_calls=settings.calls_max,
        rtp_timeout=settings.rtp_timeout_s,
        extra_config_text="\n".join(lines) + "\n",
    )


class SipArrival:
    """A call to us."""

    def __init__(self, line: SipLine, admitted: Admitted, native: Native) -> None:
        """Take an admitted call over."""
        self._line, self._admitted, self._native = line, admitted, native
        self._answered = False

    @property
    def line(self) -> Line:
        """Its line."""
        return self._line

    @property
    def from_(self) -> str:
        """The user of the From header."""
        return self._admitted.from_

    @property
    def to(self) -> str:
        """The called number."""
        return self._admitted.to

    @property
    def external_id(self) -> str:
        """The SIP Call-ID."""
        return self._line.external_id

    @property
    def trunk_id(self) -> str:
        """The trunk that let the call in."""
        return self._admitted.trunk_id

    @property
    def token(self) -> str:
        """Empty: a telephone shows none."""
        return ""

    async def ring(self) -> None:
        """Do nothing: the stack has sent 180 when the call was admitted."""

    async def answer(self) -> Line:
        """Send 200 OK."""
        await self._line.answer()
        self._answered = True
        return self._line

    async def reject(self, status: int = 486) -> None:
        """Refuse with a final status."""
        if status not in FINAL_REFUSALS:
            raise ValueError(f"{status} does not refuse a call")
        if self._answered:
            return
        self._line.refuse()
        await self._native.reject(self.external_id, status, REASONS.get(status, "Refused"))


class SipLeg:
    """A `Leg` of SIP trunks. One a process: the stack is global to it."""

    def __init__(self, settings: SipSettings, on_trunk: OnTrunk) -> None:
        """Prepare; `on_trunk` is called on the loop with each change of a trunk's state."""
        self.admission = Admission()
        self._settings = settings
        self._on_trunk = on_trunk
        self._runtime = Runtime()
        public = None
        if settings.public_address:
            public = PublicAddress(settings.public_address, settings.port, settings.port + 1)
        self._native = Native(self._on_packet, self._admit, public)
        self._nat = account.nat(settings.stun_server)
        self._registrations = Registrations(
            self._agent, self._native.stop_registering, on_trunk, self._nat, most=settings.registrations_max
        )
        self._agents: dict[str, asyncio.Future[UserAgent]] = {}
        self._agents_made = 0
        self._making = asyncio.Lock()
        self._lines: dict[int, SipLine] = {}
        self._early: OrderedDict[int, list[StackEvent]] = OrderedDict()
        self._calls = Calls(self._on_call)
        self._credentials: dict[str, tuple[str, str]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._codecs: OrderedDict[str, str] = OrderedDict()
        self._arrivals: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._refusing: set[asyncio.Future[None]] = set()
        self._died = self._worn_out = False
        self._runtime.on_dead = self._on_dead

    @property
    def refused(self) -> Mapping[str, int]:
        """Calls from an unknown `address`, or with a wrong `digest`; `challenged` were asked for one first."""
        return self.admission.refused

    async def start(self) -> None:
        """Open the ports.

        Raises:
            LegError: a port is taken, or the certificate is none.
        """
        self._loop = asyncio.get_running_loop()
        try:
            await self._runtime.start(config(self._settings))
        except BaresipError as error:
            raise LegError(f"the SIP stack did not start: {error}") from error
        await self._native.install(self._runtime)
        self._runtime.subscribe(self._on_stack_event)
        transports: tuple[SipTransportName, ...] = (
            ("udp", "tcp", "tls") if self._settings.certificate else ("udp", "tcp")
        )
        for transport in transports:
            await self._agent(account.door(self._settings.host, transport, self._nat))
        self._native.is_open = True

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        """Let in the calls of exactly these trunks, and register with those that want it.

        A trunk that cannot be used is told through `on_trunk` and left out.
        """
        usable = tuple(trunk for trunk in trunks if trunk.kind == "sip")
        self.admission.trunks = usable
        await self._registrations.replace(
            {trunk.trunk_id: trunk for trunk in usable if trunk.register}, self._settings.register_every_s
        )

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Send INVITE.

        Raises:
            LegError: the number or trunk is no valid SIP address, no local address reaches it, or the stack is full.
        """
        uri = account.uri(telephony, to)
        agent = await self._agent(account.calling(telephony, self._nat))
        try:
            call = await agent.dial(uri)
        except (BaresipError, ValueError) as error:
            raise LegError(f"{to} could not be dialed: {error}") from error
        line = self._adopt(call, incoming=False, telephony=telephony)
        line.on_ended.append(lambda ended: self._tell_credentials(telephony, ended))
        line.ring_for(ring_timeout_s)
        return line

    async def check(self, trunk: Telephony) -> list[CheckStep]:
        """Say what of a trunk works, also of one that is not used yet."""
        return await check(trunk, self._settings)

    def incoming(self) -> AsyncIterator[Arrival]:
        """Admitted calls to us; raises `LegError` where the stack dies."""
        return self._incoming()

    async def _incoming(self) -> AsyncIterator[Arrival]:
        while (arrival := await self._arrivals.get()) is not None:
            yield arrival
        if self._worn_out:
            raise LegError("the SIP stack has had its fill of accounts: its process must be replaced")
        if self._died:
            raise LegError("the SIP stack died: this process carries no call any more")

    def _wear_out(self) -> None:
        """Take no more calls, so that another process does; those that run go on."""
        self._worn_out = True
        self._arrivals.put_nowait(None)

    def _on_dead(self) -> None:
        """End what can no longer go on. The stack cannot be started twice in a process: its owner starts another."""
        self._died = True
        for line in list(self._lines.values()):
            line.lose()
        self._arrivals.put_nowait(None)

    async def stop(self) -> None:
        """Hang up all lines, deregister, close the ports."""
        if self._died:
            return
        for line in list(self._lines.values()):
            with contextlib.suppress(LegError):  # then it ends with the stack
                await line.hangup()
        await self._registrations.replace({}, self._settings.register_every_s)
        with contextlib.suppress(LegError):  # a stack that hangs is closed all the same
            await self._native.uninstall()
        await self._runtime.close()
        self._arrivals.put_nowait(None)

    async def _agent(self, of: Account) -> UserAgent:
        """Return the stack's agent of an account; each is made once and kept.

        The binding cannot free one: destroyed behind its back, its slot stays taken, and the next agent at the same
        place in memory is lost.
        """
        key = of.aor()
        made = self._agents.get(key)
        if made is None:
            made = self._agents[key] = asyncio.ensure_future(self._make_agent(of))
        try:
            return await asyncio.shield(made)  # one who dials may give up, another may wait for the same
        except LegError:
            self._agents.pop(key, None)
            raise
        except BaresipError as error:
            self._agents.pop(key, None)
            raise LegError(f"the SIP stack refused an account: {error}") from error

    async def _make_agent(self, of: Account) -> UserAgent:
        if self._agents_made >= self._settings.accounts_max:
            self._wear_out()
            raise LegError("the SIP stack has no room for another account: its process is about to be replaced")
        async with self._making:
            self._agents_made += 1
            self._native.transport = of.transport
            # A peer's REFER would let it place calls at our cost: refused.
            agent = await UserAgent.create(self._runtime, of, transfer_policy="reject")
            self._native.made(agent.handle)
        agent.on_incoming(self._on_incoming)
        return agent

    def _adopt(self, call: Call, *, incoming: bool, telephony: Telephony) -> SipLine:
        line = SipLine(
            call,
            self._native,
            incoming=incoming,
            uri_of=lambda to: account.uri(telephony, to),
            codec_of=lambda call_id: self._codecs.get(call_id, ""),
        )
        self._lines[call.handle] = line
        self._credentials[line.external_id] = (telephony.username, telephony.password)
        line.on_ended.append(lambda _: self._forget(line))
        call.on(line.on_stack_event)
        for event in self._early.pop(call.handle, []):
            if not incoming:
                call._on_stack_event(event)  # it came before the binding had made the call
        return line

    def _forget(self, line: SipLine) -> None:
        self._lines.pop(line.call.handle, None)
        self._credentials.pop(line.external_id, None)
        dialogs.down("sip", line.external_id)  # also where nobody answers our BYE

    def _on_stack_event(self, event: StackEvent) -> None:
        if event.call and event.call not in self._lines and event.event is not Event.CALL_RTCP:
            self._early.setdefault(event.call, []).append(event)
            if len(self._early) > EARLY_CALLS_MAX:
                self._early.popitem(last=False)

    def _on_incoming(self, call: Call) -> None:
        admitted = self.admission.take(call.call_id or "")
        trunk = next(
            (trunk for trunk in self.admission.trunks if admitted and trunk.trunk_id == admitted.trunk_id), None
        )
        if admitted is None or trunk is None:
            # The trunk went while the call came.
            refusing = asyncio.ensure_future(self._native.reject(call.call_id or "", 403, REASONS[403]))
            self._refusing.add(refusing)
            refusing.add_done_callback(self._refusing.discard)
            return
        self._arrivals.put_nowait(SipArrival(self._adopt(call, incoming=True, telephony=trunk), admitted, self._native))

    def _tell_credentials(self, trunk: Telephony, ended: Ended) -> None:
        # What is told of a trunk that is registered is how that goes.
        if ended.outcome is Outcome.WRONG_CREDENTIALS and ended.status is not None and not trunk.register:
            detail = diagnosis.of_answer("trunk", ended.status, split_status(ended.detail)[1], trunk)
            self._on_trunk(TrunkStatus(trunk.trunk_id, TrunkState.WRONG_CREDENTIALS, detail))

    def _tell_dialog(self, call_id: str, call: WireCall | None) -> None:
        """Tell the supervisor how to end a call, should this process die."""
        if call is None:
            self._credentials.pop(call_id, None)
            dialogs.down("sip", call_id)
            return
        username, password = self._credentials.get(call_id, ("", ""))
        more = {"username": username, "password": password, "host": self._settings.host}
        dialogs.up("sip", call_id, call.data() | more | {"ca_file": self._settings.ca_file})

    # All below run in the SIP thread.

    def _on_call(self, call_id: str, call: WireCall | None) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._tell_dialog, call_id, call)

    def _admit(self, packet: Packet) -> Refusal | None:
        invite = message.Message.parse(packet.content)
        if invite is None or invite.is_response:
            return Refusal(400, "Bad Request")
        return self.admission.decide(invite, packet.peer, time.monotonic())

    def _on_packet(self, packet: Packet) -> None:
        if wire.isEnabledFor(logging.DEBUG):
            direction = "to" if packet.sent else "from"
            wire.debug("%s %s\n%s", direction, packet.peer, message.without_secrets(packet.content))
        self._calls.take(
            packet.content,
            sent=packet.sent,
            hop=(packet.peer.partition("%")[0], packet.port),
            transport=packet.transport,
        )
        if packet.sent and packet.content.startswith(b"REGISTER "):
            request = message.Message.parse(packet.content)
            if request is not None:
                self.admission.registered(message.address_of_record(request.headers.get("to", "")), packet.peer)
        elif packet.content.startswith(b"SIP/2.0 200") and b"m=audio" in packet.content:
            answer = message.Message.parse(packet.content)
            if answer is not None and answer.method == "INVITE" and answer.codec:
                self._codecs[answer.call_id] = answer.codec
                if len(self._codecs) > CODECS_MAX:
                    self._codecs.popitem(last=False)
