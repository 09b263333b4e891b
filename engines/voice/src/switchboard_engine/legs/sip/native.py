"""What the stack can do and its Python binding has no call for (baresip-python 0.5.2a3, the newest).

To look at a call's sender before it rings, to ask it for a digest, to refuse with another status than 486, to hold a
call while audio flows, to name another address than the machine's own, and to end the registration of a silent
registrar. All are reached by ctypes in the very library that the binding has loaded, through baresip's public C API
(`baresip.h`, `re_sip.h`, `re_sa.h`), by functions alone and no structure's layout. The wheel is pinned; `Native`
refuses to start on one that lacks a symbol, and the tests hold the rest. Pipecat has no SIP transport in 1.14.
"""

import ctypes
import errno
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from baresip import BaresipError, Event, Runtime, _events, _native
from baresip._native import lib

from ..leg import LegError, SipTransportName

logger = logging.getLogger(__name__)

_ADDRESS_TEXT_BYTES = 64
# The binding sets `call_accept`, by which the stack lets every caller ring; parsed again, the stack asks `_on_event`.
_CONFIG = b"call_accept no\ncall_hold_other_calls no\n"

_SENDONLY, _SENDRECV, _INACTIVE = 2, 3, 0  # enum sdp_dir of re_sdp.h
_TRANSPORTS = ("UDP", "TCP", "TLS")  # enum sip_transp of re_sip.h
_PL_BYTES = 64  # more than a struct pl, which only the library fills and reads

_TraceHandler = ctypes.CFUNCTYPE(
    None,
    ctypes.c_bool,
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_size_t,
    ctypes.c_void_p,
)
_EventHandler = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)


@dataclass(frozen=True)
class Packet:
    """A SIP message on the wire.

    `peer` is the other side's IP address, `port` its port: a sender's, or of a sent message its receiver's.
    """

    sent: bool
    peer: str
    port: int
    transport: str
    content: bytes


@dataclass(frozen=True)
class Refusal:
    """The answer to an INVITE that must not ring; `headers` end each in CRLF."""

    status: int
    reason: str
    headers: str = ""


NOT_HERE = Refusal(404, "Not Found")
NOT_YET = Refusal(503, "Service Unavailable", "Retry-After: 5\r\n")


@dataclass(frozen=True)
class PublicAddress:
    """The IP address outside of a NAT, and the ports of UDP and TCP, and of TLS, which it forwards."""

    host: str
    port: int
    tls_port: int

    def contact(self, user: str, transport: SipTransportName) -> str:
        """Return the URI by which requests within a call reach an agent."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = self.tls_port if transport == "tls" else self.port
        return f"sip:{user}@{host}:{port};transport={transport}"


class Native:
    """Hooks in the SIP thread. Both callbacks run there: they are quick, and share only what is replaced whole."""

    def __init__(
        self,
        on_packet: Callable[[Packet], None],
        admit: Callable[[Packet], Refusal | None],
        public: PublicAddress | None = None,
    ) -> None:
        """Find the functions.

        Args:
            on_packet: gets every SIP message, before the stack acts on it.
            admit: asked for each INVITE of a new call; None lets it ring.
            public: where others find us, if that is not where the stack listens.

        Raises:
            LegError: this build of the stack lacks one.
        """
        self._on_packet = on_packet
        self._admit = admit
        self._public = public
        self.transport: SipTransportName = "udp"
        """Of the agent that is being made; one is made at a time."""
        self._made = 0
        """Where the agent is that was made last."""
        self._agents: dict[int, int] = {}
        """Where agents are, by the binding's handles: they live as long as the stack."""
        self.is_open = False
        """Whether the leg takes calls; until then they are refused."""
        self._received: Packet | None = None
        self._runtime: Runtime | None = None
        self._forward: Callable[[int, int, bytes | None], None] | None = None
        self._jobs: deque[Callable[[], None]] = deque()
        self._lib = ctypes.CDLL(_native.__file__)
        try:
            self._declare()
        except AttributeError as error:
            raise LegError(f"this build of baresip-python lacks a function of baresip: {error}") from error
        # The C side keeps only the address of these: they must live as long as it does.
        self._trace_handler = _TraceHandler(self._on_trace)
        self._event_handler = _EventHandler(self._on_event)

    def _declare(self) -> None:
        pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
        signatures: dict[str, tuple[object, list[object]]] = {
            "bevent_get_call": (pointer, [pointer]),
            "bevent_get_msg": (pointer, [pointer]),
            "bevent_get_ua": (pointer, [pointer]),
            "bevent_register": (number, [_EventHandler, pointer]),
            "bevent_unregister": (None, [_EventHandler]),
            "call_get_ua": (pointer, [pointer]),
            "call_laddr": (pointer, [pointer]),
            "call_modify": (number, [pointer]),
            "call_sdp_change_allowed": (ctypes.c_bool, [pointer]),
            "call_set_media_direction": (None, [pointer, number, number]),
            "conf_alloc_buf": (number, [ctypes.POINTER(pointer), text, ctypes.c_size_t]),
            "conf_config": (pointer, []),
            "config_parse_conf": (number, [pointer, pointer]),
            "mem_deref": (pointer, [pointer]),
            "pl_set_str": (None, [pointer, text]),
            "sa_port": (ctypes.c_uint16, [pointer]),
            "sa_set_str": (number, [pointer, text, ctypes.c_uint16]),
            "sa_ntop": (number, [pointer, text, number]),
            "sip_set_trace_handler": (None, [pointer, pointer]),
            "sip_treplyf": (
                number,
                [pointer, pointer, pointer, pointer, ctypes.c_bool, ctypes.c_uint16, text, text],
            ),
            "ua_accept": (number, [pointer, pointer]),
            "ua_local_cuser": (text, [pointer]),
            "ua_pub_gruu_set": (None, [pointer, pointer]),
            "ua_hangup": (None, [pointer, pointer, ctypes.c_uint16, text]),
            "ua_stop_register": (None, [pointer]),
            "uag_call_find": (pointer, [text]),
            "uag_find_msg": (pointer, [pointer]),
            "uag_sip": (pointer, []),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(self._lib, name)
            function.restype, function.argtypes = result, arguments

    async def install(self, runtime: Runtime) -> None:
        """Take over admission; the runtime is up and has no user agent yet.

        Raises:
            LegError: the stack refused.
        """
        self._runtime = runtime
        self._forward = _events.set_sink(self._on_completion)
        if error := await self.run(self._install):
            raise LegError(f"the SIP stack refused admission control: error {error}")

    def _install(self) -> int:
        config = ctypes.c_void_p()
        error: int = self._lib.conf_alloc_buf(ctypes.byref(config), _CONFIG, len(_CONFIG))
        error = error or self._lib.config_parse_conf(self._lib.conf_config(), config)
        self._lib.mem_deref(config)
        error = error or self._lib.bevent_register(self._event_handler, None)
        if not error:
            self._lib.sip_set_trace_handler(self._lib.uag_sip(), self._trace_handler)
        return error

    async def uninstall(self) -> None:
        """Take the hooks out, while the runtime is still up."""
        await self.run(self._uninstall)
        _events.set_sink(self._forward)

    def _uninstall(self) -> int:
        self._lib.sip_set_trace_handler(self._lib.uag_sip(), None)
        self._lib.bevent_unregister(self._event_handler)
        return 0

    async def reject(self, call_id: str, status: int, reason: str) -> None:
        """Refuse a ringing call with a final status; does nothing when it is gone.

        Raises:
            LegError: the stack does not answer.
        """
        await self.run(lambda: self._reject(call_id.encode(), status, reason.encode()))

    def _reject(self, call_id: bytes, status: int, reason: bytes) -> int:
        call = self._lib.uag_call_find(call_id)
        if call:
            self._lib.ua_hangup(self._lib.call_get_ua(call), call, status, reason)
        return 0

    async def hold(self, call_id: str, *, on: bool) -> bool:
        """Send a re-INVITE that holds or resumes a call; returns whether it was sent: one at a time may be under way.

        The binding's own hold stops all packets: a NAT then forgets the way, and a peer takes the line for dead.

        Raises:
            LegError: the stack does not answer.
        """
        return await self.run(lambda: self._hold(call_id.encode(), on=on)) == 0

    def _hold(self, call_id: bytes, *, on: bool) -> int:
        call = self._lib.uag_call_find(call_id)
        if not call:
            return errno.ENOENT
        if not self._lib.call_sdp_change_allowed(call):
            return errno.EBUSY
        self._lib.call_set_media_direction(call, _SENDONLY if on else _SENDRECV, _INACTIVE)
        error: int = self._lib.call_modify(call)
        return error

    def made(self, handle: int) -> None:
        """Take the binding's handle of the agent that was made last."""
        self._agents[handle] = self._made

    async def stop_registering(self, handle: int) -> None:
        """Take the registration of an agent back; a request that is under way comes to its end first.

        The binding's own call sends a second request meanwhile: a stack that is closed then writes to memory that it
        has freed (libre 4.10).

        Raises:
            LegError: the stack does not answer.
        """
        await self.run(lambda: self._lib.ua_stop_register(self._agents[handle]) or 0)

    async def run(self, job: Callable[[], int]) -> int:
        """Run a job in the SIP thread, between two of its events, and return its result.

        libre is not to be called from another thread: its `re_thread_enter` locks nothing here, since the binding
        initializes the library in one thread and runs it in another. But a command's completion is told in the SIP
        thread, before the binding hands it to the loop: there the jobs are done.

        Raises:
            LegError: the stack does not answer.
        """
        if self._runtime is None:
            raise LegError("the SIP stack is not started")
        results: list[int] = []
        self._jobs.append(lambda: results.append(job()))
        try:
            await self._runtime.cmd(lib.BP_CMD_PING)
        except BaresipError as error:
            raise LegError(f"the SIP stack does not answer: {error}") from error
        return results[0] if results else errno.EIO

    def _on_completion(self, event: int, handle: int, payload: bytes | None) -> None:
        # Only at a ping's completion: other events come from the depths of the stack, which a job could pull away.
        while event == lib.BP_EV_PONG and self._jobs:
            try:
                self._jobs.popleft()()
            except Exception:
                logger.exception("a job failed in the SIP thread")
        if self._forward is not None:
            self._forward(event, handle, payload)

    def _address(self, address: int) -> str:
        text = ctypes.create_string_buffer(_ADDRESS_TEXT_BYTES)
        self._lib.sa_ntop(address, text, _ADDRESS_TEXT_BYTES)
        return text.value.decode()

    def _on_trace(  # noqa: PLR0917 - C calls it
        self, sent: bool, transport: int, source: int, destination: int, content: int, length: int, _argument: int
    ) -> None:
        try:
            peer = destination if sent else source
            name = _TRANSPORTS[transport] if transport in range(len(_TRANSPORTS)) else ""
            at = ctypes.string_at(content, length)
            packet = Packet(sent, self._address(peer), self._lib.sa_port(peer), name, at)
            if not sent:
                self._received = packet
            self._on_packet(packet)
        except Exception:  # an exception must not pass through C
            logger.exception("a SIP message could not be read")

    def _on_event(self, event: int, handle: int, _argument: int) -> None:
        try:
            if event == Event.SIPSESS_CONN:
                self._on_invite(handle)
            elif event == Event.CREATE:
                self._made = self._lib.bevent_get_ua(handle)
                if self._public is not None:
                    self._name_agent(self._made, self._public)
            elif event == Event.CALL_LOCAL_SDP and self._public is not None:
                # It comes just before the description is written.
                address = self._lib.call_laddr(self._lib.bevent_get_call(handle))
                self._lib.sa_set_str(address, self._public.host.encode(), self._lib.sa_port(address))
        except Exception:  # an exception must not pass through C
            logger.exception("an event of the SIP stack could not be handled")

    def _name_agent(self, agent: int, public: PublicAddress) -> None:
        """Have an agent's Contact name the public address: the stack takes a GRUU (RFC 5627) for its own."""
        user = self._lib.ua_local_cuser(agent).decode()
        contact = ctypes.create_string_buffer(public.contact(user, self.transport).encode())
        reference = ctypes.create_string_buffer(_PL_BYTES)
        self._lib.pl_set_str(reference, contact)
        self._lib.ua_pub_gruu_set(agent, reference)

    def _on_invite(self, handle: int) -> None:
        try:
            message = self._lib.bevent_get_msg(handle)
            agent = self._lib.uag_find_msg(message)
            refusal = self._judge() if agent and self.is_open else NOT_HERE if self.is_open else NOT_YET
            if refusal is None:
                self._lib.ua_accept(agent, message)
            else:
                self._refuse(message, refusal)
        except Exception:
            logger.exception("a call could not be admitted")

    def _judge(self) -> Refusal | None:
        # The stack handles one message at a time: the INVITE that it asks about is the one that it traced last.
        if self._received is None:
            return Refusal(403, "Forbidden")
        try:
            return self._admit(self._received)
        except Exception:
            logger.exception("admission failed: the call is refused")
            return Refusal(500, "Server Internal Error")

    def _refuse(self, message: int, refusal: Refusal) -> None:
        headers = f"{refusal.headers}Content-Length: 0\r\n\r\n".replace("%", "%%").encode()
        self._lib.sip_treplyf(
            None, None, self._lib.uag_sip(), message, False, refusal.status, refusal.reason.encode(), headers
        )
