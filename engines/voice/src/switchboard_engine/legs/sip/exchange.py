"""Requests beside the stack, each on a socket of its own: for what the stack cannot ask, or not any more."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Protocol
from urllib.parse import urlsplit

from ..leg import SipTransportName
from .dialog import Hop
from .message import Message

CHALLENGES = {401: ("www-authenticate", "Authorization"), 407: ("proxy-authenticate", "Proxy-Authorization")}
"""By status: the header that asks for a digest, and the one that gives it (RFC 3261 section 22)."""
PORTS = {"udp": 5060, "tcp": 5060, "tls": 5061}
CLOSE_S = 1.0
"""How long the other side may take to close a connection."""
_RETRANSMIT_S = 0.5  # T1, doubled each time up to T2 (RFC 3261 section 17.1.2.1)
_RETRANSMIT_MAX_S = 4.0
_MESSAGE_MAX_BYTES = 64 * 1024
_FINAL = 200


class Exchange(Protocol):
    """A way to one address."""

    @property
    def sent_by(self) -> str:
        """Our own end, for a Via."""

    async def ask(self, request: str, call_id: str, sequence: int) -> Message:
        """Send a request, and return its final response; waits for ever. Raises `OSError`."""


def host_and_port(text: str) -> tuple[str, int | None]:
    """Return the parts of `host` or `host:port`, the host without brackets; raises `ValueError`."""
    parts = urlsplit(f"//{text}")
    if not parts.hostname:
        raise ValueError(f"{text!r} names no host")
    return parts.hostname, parts.port


def address(host: str, port: int) -> str:
    """Return an address as headers have it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@asynccontextmanager
async def open_exchange(
    hop: Hop, transport: SipTransportName, host: str, *, context: ssl.SSLContext | None = None, name: str = ""
) -> AsyncIterator[Exchange]:
    """Open a socket from an address of ours to a hop; with TLS, `context` verifies that it is `name`.

    Raises `OSError`, of which `ssl.SSLError` is one.
    """
    loop = asyncio.get_running_loop()
    if transport == "udp":
        way, answers = await loop.create_datagram_endpoint(_Datagrams, local_addr=(host, 0), remote_addr=hop)
        try:
            yield _ByDatagram(way, answers)
        finally:
            way.close()
        return
    reader, writer = await asyncio.open_connection(
        *hop, ssl=context, server_hostname=name if context else None, local_addr=(host, 0), limit=_MESSAGE_MAX_BYTES
    )
    try:
        yield _OnStream(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await writer.wait_closed()


def _answers(message: Message | None, call_id: str, sequence: int) -> bool:
    return (
        message is not None
        and message.call_id == call_id
        and message.sequence == sequence
        and (message.status or 0) >= _FINAL
    )


class _Datagrams(asyncio.DatagramProtocol):
    """Keeps what comes to a socket."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[Message | OSError] = asyncio.Queue(maxsize=64)

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Take an answer."""
        del addr
        message = Message.parse(data)
        if message is not None:
            self._keep(message)

    def error_received(self, exc: Exception) -> None:
        """Take what the network says, such as that nobody listens there."""
        if isinstance(exc, OSError):
            self._keep(exc)

    def _keep(self, item: Message | OSError) -> None:
        with contextlib.suppress(asyncio.QueueFull):
            self.received.put_nowait(item)


class _ByDatagram:
    def __init__(self, way: asyncio.DatagramTransport, answers: _Datagrams) -> None:
        self._way, self._answers = way, answers

    @property
    def sent_by(self) -> str:
        return address(*self._way.get_extra_info("sockname")[:2])

    async def ask(self, request: str, call_id: str, sequence: int) -> Message:
        pause_s = _RETRANSMIT_S
        while True:
            self._way.sendto(request.encode())
            try:
                async with asyncio.timeout(pause_s):
                    return await self._answer(call_id, sequence)
            except TimeoutError:
                pause_s = min(2 * pause_s, _RETRANSMIT_MAX_S)

    async def _answer(self, call_id: str, sequence: int) -> Message:
        while True:
            received = await self._answers.received.get()
            if isinstance(received, OSError):
                raise received
            if _answers(received, call_id, sequence):
                return received


class _OnStream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @property
    def sent_by(self) -> str:
        return address(*self._writer.get_extra_info("sockname")[:2])

    async def ask(self, request: str, call_id: str, sequence: int) -> Message:
        self._writer.write(request.encode())
        try:
            while True:
                head = await self._reader.readuntil(b"\r\n\r\n")
                message = Message.parse(head)
                length = message.headers.get("content-length", "") if message is not None else ""
                await self._reader.readexactly(min(int(length), _MESSAGE_MAX_BYTES) if length.isdecimal() else 0)
                if message is not None and _answers(message, call_id, sequence):
                    return message
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise ConnectionError("the connection was closed without an answer") from error
