"""What anybody can throw at the ports: the process survives it, and takes the next call.

All of it goes to a process of its own: were the C library to fall over, that process would die alone.
"""

import asyncio
import random
import socket
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.ports import free_port

from .peer import Peer
from .processes import Host
from .sound import RECOGNISED, audible, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")

SDP = (
    "v=0\r\no=x 1 1 IN IP4 127.0.0.1\r\ns=-\r\nc=IN IP4 127.0.0.1\r\nt=0 0\r\nm=audio 40000 RTP/AVP 0 101\r\n"
    "a=rtpmap:0 PCMU/8000\r\na=rtpmap:101 telephone-event/8000\r\na=sendrecv\r\n"
)


def invite(call: str, *, sdp: str = SDP, extra: str = "", length: str = "", via: str = "z9hG4bK") -> bytes:
    """An INVITE, right but for what a test makes wrong."""
    return (
        f"INVITE sip:+12025550100@127.0.0.1 SIP/2.0\r\nVia: SIP/2.0/UDP 127.0.0.1:9;branch={via}{call};rport\r\n"
        f"From: <sip:x@127.0.0.1>;tag={call}\r\nTo: <sip:+12025550100@127.0.0.1>\r\nCall-ID: {call}\r\n"
        f"CSeq: 1 INVITE\r\nMax-Forwards: 70\r\nContact: <sip:x@127.0.0.1:9>\r\n{extra}"
        f"Content-Type: application/sdp\r\nContent-Length: {length or len(sdp)}\r\n\r\n{sdp}"
    ).encode()


MALFORMED: dict[str, bytes] = {
    "nothing": b"",
    "nulls": bytes(500),
    "a start line": b"INVITE\r\n\r\n",
    "no headers": b"INVITE sip:x@127.0.0.1 SIP/2.0\r\n\r\n",
    "no colon": b"INVITE sip:x@127.0.0.1 SIP/2.0\r\nVia\r\nFrom\r\n\r\n",
    "another protocol": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "a stray response": b"SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKq\r\nCSeq: 1 INVITE\r\nCall-ID: q\r\n\r\n",
    "a status that is none": b"SIP/2.0 99999999999 OK\r\nCSeq: 1 INVITE\r\nCall-ID: q\r\n\r\n",
    "a negative length": invite("m1", length="-1"),
    "a huge length": invite("m2", length="99999999999999999999"),
    "a length too long": invite("m3", length="5000"),
    "a header without end": invite("m4", extra="X-Long: " + "a" * 60_000 + "\r\n"),
    "many headers": invite("m5", extra="".join(f"X-{n}: {n}\r\n" for n in range(2_000))),
    "an old branch": invite("m6", via="old"),
    "bytes that are no text": invite("m7", extra="X-Raw: \xff\xfe\x00\r\n"),
    "a format string": invite("%s%n%x%n", extra="Subject: %s%s%n\r\n"),
    "no SDP lines": invite("m8", sdp="hello"),
    "SDP without media": invite("m9", sdp=SDP.partition("m=")[0]),
    "SDP with a port too large": invite("m10", sdp=SDP.replace("40000", "4000000000")),
    "SDP with port 0": invite("m11", sdp=SDP.replace("40000", "0")),
    "SDP with many formats": invite("m12", sdp=SDP.replace("0 101", " ".join(map(str, range(128))))),
    "SDP with many media": invite("m13", sdp=SDP + "m=audio 4 RTP/AVP 0\r\n" * 500),
    "SDP with no codec in common": invite("m14", sdp=SDP.replace("AVP 0 101", "AVP 99")),
    "SDP with a strange address": invite("m15", sdp=SDP.replace("IN IP4 127.0.0.1", "IN IP9 ::::::")),
    "SDP to everybody": invite("m16", sdp=SDP.replace("IN IP4 127.0.0.1", "IN IP4 255.255.255.255")),
    "a format string in SDP": invite("m17", sdp=SDP.replace("PCMU", "%n%n%s")),
    "a digest without end": invite("m18", extra='Authorization: Digest username="\r\n'),
    "Replaces of nothing": invite("m19", extra="Replaces: x;to-tag=1;from-tag=2\r\n"),
    "a required extension": invite("m20", extra="Require: " + "x," * 400 + "y\r\n"),
    "REFER from nowhere": invite("m21").replace(b"INVITE", b"REFER"),
    "BYE from nowhere": invite("m22").replace(b"INVITE", b"BYE"),
    "a method that is none": invite("m23").replace(b"INVITE", b"DANCE"),
    "methods that differ": invite("m24").replace(b"1 INVITE", b"1 BYE"),
}


@asynccontextmanager
async def thrower(port: int) -> AsyncIterator[socket.socket]:
    """A socket that throws at a port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as thrower:
        thrower.connect(("127.0.0.1", port))
        yield thrower


async def takes_a_call(host: Host, peer: Peer) -> None:
    """See that the process lives and answers, and hears."""
    dialog = await peer.call(f"sip:+12025550100@127.0.0.1:{host.port}", ("127.0.0.1", host.port))
    assert (await dialog.final()).status == 200, host.errors()
    dialog.media.play(tone(1000, 0.4))
    await dialog.media.played()
    await asyncio.sleep(0.3)
    assert usual_power(audible(dialog.media.samples()), 1000) > RECOGNISED
    dialog.bye()
    await dialog.response()
    assert host.alive, host.errors()


@pytest.mark.parametrize("kind", MALFORMED)
async def test_a_malformed_message_harms_nobody(host: Host, peer: Peer, kind: str) -> None:
    async with thrower(host.port) as sender:
        sender.send(MALFORMED[kind])
    assert await host.answers_options(peer)


async def test_messages_cut_and_flipped_at_random_harm_nobody(host: Host, peer: Peer) -> None:
    seed = 20261127
    dice = random.Random(seed)
    async with thrower(host.port) as sender:
        for number in range(600):
            message = bytearray(invite(f"f{number}"))
            for _ in range(dice.randint(1, 8)):
                message[dice.randrange(len(message))] = dice.randrange(256)
            sender.send(bytes(message[: dice.randint(1, len(message))] if dice.random() < 0.5 else message))
            if number % 50 == 0:
                await asyncio.sleep(0.01)
    assert await host.answers_options(peer), f"seed {seed}: {host.errors()}"
    await takes_a_call(host, peer)


async def test_malformed_media_harms_nobody(host: Host, peer: Peer) -> None:
    seed = 4733
    dice = random.Random(seed)
    dialog = await peer.call(f"sip:+12025550100@127.0.0.1:{host.port}", ("127.0.0.1", host.port))
    assert (await dialog.final()).status == 200
    for length in range(64):
        dialog.media.send_raw(bytes(dice.randrange(256) for _ in range(length)))
    for _ in range(500):
        head = struct.pack("!BBHII", dice.choice((0x80, 0x9F, 0xB0, 0x8F)), dice.randrange(256), dice.randrange(65536),
                           dice.randrange(2**32), dice.randrange(2**32))  # fmt: skip
        dialog.media.send_raw(head + bytes(dice.randrange(256) for _ in range(dice.randrange(400))))
    dialog.media.send_raw(bytes(1_400))
    await asyncio.sleep(0.3)
    assert host.alive, f"seed {seed}: {host.errors()}"
    dialog.bye()
    await takes_a_call(host, peer)


async def test_a_half_message_on_tcp_harms_nobody(host: Host, peer: Peer) -> None:
    for content in (invite("t1")[:200], b"\r\n" * 1000, b"x" * 100_000, invite("t2", length="999999999")):
        _, writer = await asyncio.open_connection("127.0.0.1", host.port)
        writer.write(content)
        await asyncio.sleep(0.05)
        writer.close()
    assert await host.answers_options(peer)
    await takes_a_call(host, peer)


async def test_a_leg_that_stops_hangs_up(peer: Peer) -> None:
    host = await Host.run(free_port())
    dialog = await peer.call(f"sip:+12025550100@127.0.0.1:{host.port}", ("127.0.0.1", host.port))
    assert (await dialog.final()).status == 200
    host.end_input()
    await dialog.expect("BYE")
    assert await host.ended() == 0
    assert "by='assistant'" in host.output()
    await host.stop()


async def test_a_stack_that_dies_ends_its_lines(peer: Peer) -> None:
    host = await Host.run(free_port())
    dialog = await peer.call(f"sip:die@127.0.0.1:{host.port}", ("127.0.0.1", host.port))
    assert (await dialog.final()).status == 200
    assert await host.ended() == 1
    assert "Ended(by='engine', outcome=<Outcome.FAILED: 'failed'>" in host.output()
    assert "the SIP stack died: this process carries no call any more" in host.output()
    await host.stop()


async def test_calls_and_accounts_beyond_the_most_are_refused(peer: Peer) -> None:
    host = await Host.run(free_port(), calls_max=3, accounts_max=3)  # two accounts are the doors for UDP and TCP
    there = ("127.0.0.1", host.port)
    dialogs = [await peer.call(f"sip:+1@127.0.0.1:{host.port}", there) for _ in range(3)]
    for dialog in dialogs:
        assert (await dialog.final()).status == 200
    beyond = await peer.call(f"sip:+1@127.0.0.1:{host.port}", there)
    assert (await beyond.final()).status == 486
    for dialog in dialogs:
        dialog.bye()
        assert (await dialog.response()).status == 200
    for port in (peer.port, free_port()):
        dialog = await peer.call(f"sip:call-{port}@127.0.0.1:{host.port}", there)
        assert (await dialog.final()).status == 200
    await host.wrote("the SIP stack has no room for another account")
    assert await host.ended() == 1
    assert "its process must be replaced" in host.output()
    await host.stop()


async def test_a_port_that_is_taken_is_an_error(host: Host) -> None:
    second = Host(host.port)
    await second.start()
    assert await second.ended() == 1
    assert "LegError: the SIP stack did not start" in second.output()
    await second.stop()
