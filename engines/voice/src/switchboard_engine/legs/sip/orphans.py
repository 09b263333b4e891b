"""Ends the calls that a worker left when it died: from another process, by what it had told of them."""

import asyncio
import contextlib
import logging
import secrets
import ssl
from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from . import digest
from .dialog import Call, Hop
from .exchange import CHALLENGES, PORTS, address
from .message import Message

_log = logging.getLogger(__name__)

RETRANSMIT_S = (0.0, 0.5, 1.0, 2.0, 2.0)  # T1 and its doublings (RFC 3261 section 17.1.2.1), up to the hook's time
CONNECT_S = 3.0
ANSWER_S = 4.0
RESOLVE_S = 1.0
_MESSAGE_MAX_BYTES = 64 * 1024


async def end_dialogs(left: Sequence[Mapping[str, Any]]) -> None:
    """Hang up each call, at the same time; one that cannot be is logged, its far end has timers of its own."""
    await asyncio.gather(*(_end(data) for data in left))


async def _end(data: Mapping[str, Any]) -> None:
    call = Call.read(data)
    try:
        if call.transport == "UDP":
            await _end_by_udp(call, data)
        elif call.end != "refuse":  # what rings here has noticed that the connection broke
            await _end_by_stream(call, data)
    except (OSError, TimeoutError) as error:
        _log.warning("the call %s of a dead worker could not be ended: %s", call.call_id, error)


class _Answers(asyncio.DatagramProtocol):
    """Keeps the answers that come to a socket."""

    def __init__(self) -> None:
        self.received: asyncio.Queue[Message] = asyncio.Queue()

    def datagram_received(self, data: bytes, addr: tuple[Any, ...]) -> None:
        """Take an answer."""
        del addr
        message = Message.parse(data)
        if message is not None and message.is_response:
            self.received.put_nowait(message)


async def _end_by_udp(call: Call, data: Mapping[str, Any]) -> None:
    """Send again and again until there is an answer, from the second time on to every address that it may have."""
    loop, host = asyncio.get_running_loop(), str(data["host"])
    transport, answers = await loop.create_datagram_endpoint(_Answers, local_addr=(host, 0))
    try:
        hops = await _hops(call)
        sent_by = address(*transport.get_extra_info("sockname")[:2])
        content = _message(call, sent_by)
        for attempt, pause_s in enumerate(RETRANSMIT_S):
            await asyncio.sleep(pause_s)
            for hop in hops if attempt else hops[:1]:
                transport.sendto(content.encode(), hop)
            following = RETRANSMIT_S[attempt + 1] if attempt + 1 < len(RETRANSMIT_S) else ANSWER_S
            answer = await _final(answers.received, following) if call.end != "refuse" else None
            if answer is None:
                continue
            again = _authorized(call, sent_by, answer, data)
            if again is not None:
                transport.sendto(again.encode(), hops[0])
                await _final(answers.received, ANSWER_S)
            return
        if call.end != "refuse":
            raise TimeoutError("no answer")
    finally:
        transport.close()


async def _final(answers: "asyncio.Queue[Message]", within_s: float) -> Message | None:
    """Return the next final response, None where none comes in time."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(within_s):
            while True:
                answer = await answers.get()
                if (answer.status or 0) >= 200:  # noqa: PLR2004 - final
                    return answer
    return None


async def _end_by_stream(call: Call, data: Mapping[str, Any]) -> None:
    """Open a connection to where its URI says, or to where it was heard: that may be a port that nobody listens on."""
    context: ssl.SSLContext | None = None
    name: str | None = None
    if call.transport == "TLS":
        context = ssl.create_default_context(cafile=str(data["ca_file"]) or None)
        name = _next_uri(call)[0] or None
    hops = await _hops(call)
    failure = OSError("no address")
    for host, port in (*hops[len(call.hops) :], *hops[: len(call.hops)]):
        try:
            async with asyncio.timeout(CONNECT_S):
                reader, writer = await asyncio.open_connection(
                    host, port, ssl=context, server_hostname=name, local_addr=(str(data["host"]), 0)
                )
        except (OSError, TimeoutError) as error:
            failure = OSError(str(error))
            continue
        await _end_on(reader, writer, call, data)
        return
    raise failure


async def _end_on(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, call: Call, data: Mapping[str, Any]
) -> None:
    try:
        sent_by = address(*writer.get_extra_info("sockname")[:2])
        writer.write(_message(call, sent_by).encode())
        async with asyncio.timeout(ANSWER_S):
            answer = await _read(reader)
            again = _authorized(call, sent_by, answer, data) if answer is not None else None
            if again is not None:
                writer.write(again.encode())
                await _read(reader)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
        raise OSError(f"no answer: {error}") from error
    finally:
        writer.close()


async def _read(reader: asyncio.StreamReader) -> Message | None:
    """Return the head of the next response; a body, which no answer to a hang-up has, is not read."""
    head = await reader.readuntil(b"\r\n\r\n")
    return Message.parse(head) if len(head) <= _MESSAGE_MAX_BYTES else None


def _message(call: Call, sent_by: str, *, cseq: int = 0, header: str = "") -> str:
    """Return what ends a call; `header` is one more line of it."""
    if call.end == "refuse":
        vias = "".join(f"Via: {via}\r\n" for via in call.vias)
        ours, theirs, via = call.remote, call.local, vias
        first, sequence = "SIP/2.0 503 Service Unavailable", f"{call.cseq} INVITE"
    else:
        ours, theirs = call.local, call.remote
        first = f"{call.end} {call.target} SIP/2.0"
        number = call.cseq if call.end == "CANCEL" else cseq or call.cseq + 1
        sequence = f"{number} {call.end}"
        branch = f"SIP/2.0/{call.transport} {sent_by};branch=z9hG4bK{secrets.token_hex(8)};rport"
        # CANCEL is known by the INVITE's own Via (RFC 3261 section 9.1).
        via = f"Via: {call.vias[0] if call.end == 'CANCEL' and call.vias else branch}\r\nMax-Forwards: 70\r\n"
        via += "".join(f"Route: {route}\r\n" for route in call.routes)
    return (
        f"{first}\r\n{via}From: {ours}\r\nTo: {theirs}\r\nCall-ID: {call.call_id}\r\nCSeq: {sequence}\r\n"
        f"{header}Content-Length: 0\r\n\r\n"
    )


def _authorized(call: Call, sent_by: str, answer: Message, data: Mapping[str, Any]) -> str | None:
    """Return the request once more with the trunk's credentials, where they were asked for."""
    if answer.status not in CHALLENGES or not data.get("username") or call.end != "BYE":
        return None
    asked, given = CHALLENGES[answer.status]
    challenge = answer.headers.get(asked, "")
    value = digest.credentials(challenge, "BYE", call.target, str(data["username"]), str(data["password"]))
    return _message(call, sent_by, cseq=call.cseq + 2, header=f"{given}: {value}\r\n")


def _next_uri(call: Call) -> tuple[str, int]:
    """Return host and port of the first route, or of the target."""
    uri = call.routes[0] if call.routes else call.target
    inside = uri.partition("<")[2].partition(">")[0] or uri
    address = inside.partition(":")[2].partition(";")[0].rpartition("@")[2]
    try:
        parts = urlsplit(f"//{address}")
        return parts.hostname or "", parts.port or PORTS.get(call.transport.lower(), 5060)
    except ValueError:
        return "", 0


async def _hops(call: Call) -> list[Hop]:
    """Return where the far end may be: where it was heard, and then where its URI says."""
    host, port = _next_uri(call)
    named: list[Hop] = []
    try:
        named = [(str(ip_address(host)), port)]
    except ValueError:
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(RESOLVE_S):
                found = await asyncio.get_running_loop().getaddrinfo(host, port) if host else []
            named = [(str(found[0][4][0]), port)] if found else []
    return list(dict.fromkeys([*call.hops, *named]))
