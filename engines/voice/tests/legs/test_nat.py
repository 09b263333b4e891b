"""The SIP leg behind a NAT: which addresses it tells."""

import asyncio
import re
import socket
import struct
from collections.abc import AsyncIterator
from typing import cast

import pytest
import pytest_asyncio

from support.ports import free_port

from .peer import Dialog, Peer, uri_of
from .processes import Host

pytestmark = pytest.mark.asyncio(loop_scope="session")

PUBLIC = "203.0.113.7"
MAGIC = 0x2112A442  # RFC 8489 section 5


def address_in(description: str) -> str:
    """Return where a session description wants audio: the media's own address counts before the session's."""
    return str(re.findall(r"^c=IN IP4 (\S+)", description, re.MULTILINE)[-1])


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def host() -> AsyncIterator[Host]:
    """Run the leg behind a NAT that forwards its ports."""
    host = await Host.run(free_port(), public_address=PUBLIC)
    yield host
    await host.stop()


async def answered(peer: Peer, host: Host, to: str = "+1") -> Dialog:
    """Call the host, which answers."""
    dialog = await peer.call(f"sip:{to}@127.0.0.1:{host.port}", ("127.0.0.1", host.port))
    await dialog.final()
    return dialog


async def test_a_call_to_us_is_told_the_public_address(host: Host, peer: Peer) -> None:
    dialog = await answered(peer, host)
    contact = uri_of(dialog.last["contact"])
    assert re.fullmatch(rf"sip:switchboard@{PUBLIC}:{host.port};transport=udp", contact)
    assert address_in(dialog.last.body) == PUBLIC
    # The NAT forwards what is sent there: requests by that very URI are of this call.
    assert (await dialog.invite(direction="sendonly")).status == 200
    assert address_in(dialog.last.body) == PUBLIC
    dialog.bye()
    await host.wrote("Ended")


async def test_a_call_of_ours_tells_the_public_address(host: Host, peer: Peer) -> None:
    first = await answered(peer, host, f"call-{peer.port}")
    called = await peer.taken()
    assert called.invite_request is not None
    assert uri_of(called.invite_request["contact"]) == f"sip:+1202@{PUBLIC}:{host.port};transport=udp"
    assert address_in(called.invite_request.body) == PUBLIC
    assert ";rport" in called.invite_request["via"]
    await called.answer()
    called.bye()
    first.bye()


class StunServer(asyncio.DatagramProtocol):
    """Answers every binding request (RFC 8489) with one address."""

    def __init__(self, address: str) -> None:
        self._address = address

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        kind, _, cookie = struct.unpack_from("!HHI", data)
        assert (kind, cookie) == (1, MAGIC)
        (number,) = struct.unpack("!I", socket.inet_aton(self._address))
        mapped = struct.pack("!HHBBHI", 0x20, 8, 0, 1, addr[1] ^ MAGIC >> 16, number ^ MAGIC)
        self.transport.sendto(struct.pack("!HHI", 0x101, len(mapped), MAGIC) + data[8:20] + mapped, addr)


async def test_a_stun_server_tells_where_audio_goes(peer: Peer) -> None:
    server = StunServer("203.0.113.9")
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: server, ("127.0.0.1", 0))
    host = await Host.run(free_port(), stun_server=f"127.0.0.1:{transport.get_extra_info('sockname')[1]}")
    try:
        dialog = await answered(peer, host)
        assert address_in(dialog.last.body) == "203.0.113.9"
        dialog.bye()
        await host.wrote("Ended")
    finally:
        await host.stop()
        transport.close()
