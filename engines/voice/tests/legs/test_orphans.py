"""A worker that dies in the midst of calls: their far ends are told, and other workers' calls go on."""

import asyncio
import os
import re
import signal
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from support.fake_service import TOKEN, FakeService, entry
from support.lines import RINGS_ON
from support.ports import free_port
from switchboard_engine.legs.sip import end_dialogs, orphans
from switchboard_engine.legs.sip.dialog import Call
from switchboard_engine.settings import RunSettings, WorkerSettings
from switchboard_engine.supervisor import Supervisor

from .peer import Dialog, Peer, Sip, response_with

ROOT = Path(__file__).parents[2]
WAIT_S = 20.0
TRUNK = {"kind": "sip", "trunk_id": 4, "from": "+12025550100"}


@asynccontextmanager
async def running(service: FakeService, **legs: dict[str, Any]) -> AsyncIterator[Supervisor]:
    """Run two workers with legs."""
    worker = WorkerSettings(service.url, TOKEN, "desk", handler="support.lines:keep_line", named_legs=legs)
    supervisor = Supervisor(RunSettings(worker, workers=2), {"sip": end_dialogs})
    task = asyncio.create_task(supervisor.run())
    try:
        await service.until(lambda: len({body["engine"] for body in service.of("claim")}) == 2, seconds=30)
        yield supervisor
    finally:
        supervisor.stop()
        async with asyncio.timeout(15):
            await task


@pytest.fixture(autouse=True)
def python_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let workers find the package and the handlers."""
    monkeypatch.setenv("PYTHONPATH", f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}")


@pytest.fixture(autouse=True)
def no_files_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """See that no stack leaves its directory, also where its worker was killed."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    yield
    assert list(folder.iterdir()) == []


async def until_left(seen: "asyncio.Queue[Any]", method: str) -> float:
    """Return when a request of a method came."""
    while (await asyncio.wait_for(seen.get(), WAIT_S)).method != method:
        continue
    return time.monotonic()


async def offer(service: FakeService, call_id: int, peer: Peer, **more: Any) -> Dialog:
    """Have a call placed to the peer; returns its other end."""
    claimed = entry(call_id)
    claimed["telephony"] = {**TRUNK, "address": peer.address, "dial": f"+1202555{call_id:04}", **more}
    service.queue.append(claimed)
    service.wake()
    return await peer.taken()


def worker_port(dialog: Dialog) -> int:
    """Return the SIP port of the worker that placed a call."""
    assert dialog.invite_request is not None
    return int(dialog.invite_request["via"].partition(";")[0].rpartition(":")[2])


async def placed_by(port: int, service: FakeService, peer: Peer, first: int, **more: Any) -> Dialog:
    """Have calls placed until the worker of a port places one."""
    for call_id in range(first, first + 12):
        dialog = await offer(service, call_id, peer, **more)
        if worker_port(dialog) == port:
            return dialog
        dialog.respond(486)
    raise AssertionError("that worker claims nothing")


CALL = Call(
    "BYE", "c@1", "<sip:us@h>;tag=1", "<sip:them@h>;tag=2", "sip:them@127.0.0.1:9;x", 7, "UDP", (), ("<sip:h;lr>",)
)


def left(call: Call, certificate: Path | str = "") -> dict[str, Any]:
    """Return what a worker told of a call."""
    return call.data() | {"username": "carol", "password": "s3cret", "host": "127.0.0.1", "ca_file": str(certificate)}


class Answering(asyncio.DatagramProtocol):
    """Answers with one status after the other, and keeps what it was asked."""

    def __init__(self, *statuses: int) -> None:
        self.asked: list[Sip] = []
        self._statuses = list(statuses)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(self.answer(data).encode(), addr)

    def answer(self, data: bytes) -> str:
        """Return the answer to a request."""
        request = Sip.parse(data)
        self.asked.append(request)
        challenge = 'WWW-Authenticate: Digest realm="peer", nonce="n", qop="auth", algorithm=MD5\r\n'
        return (
            f"SIP/2.0 {self._statuses.pop(0)} Because\r\nVia: {request['via']}\r\nCSeq: {request['cseq']}\r\n"
            f"Call-ID: {request['call-id']}\r\n{challenge}Content-Length: 0\r\n\r\n"
        )


@asynccontextmanager
async def answering(*statuses: int) -> AsyncIterator[tuple[Answering, int]]:
    """Run one on a UDP port."""
    far = Answering(*statuses)
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: far, ("127.0.0.1", 0))
    yield far, transport.get_extra_info("sockname")[1]
    transport.close()


async def test_a_challenge_to_the_bye_is_answered() -> None:
    async with answering(401, 200) as (far, port):
        await end_dialogs([left(replace(CALL, hops=(("127.0.0.1", port),)))])
    first, second = far.asked
    assert (first["cseq"], second["cseq"], first["route"]) == ("8 BYE", "9 BYE", "<sip:h;lr>")
    assert (first["from"], first["to"]) == ("<sip:us@h>;tag=1", "<sip:them@h>;tag=2")
    given = dict(re.findall(r'(\w+)="?([^",]+)"?', second["authorization"]))
    assert (given["username"], given["uri"]) == ("carol", CALL.target)
    assert given["response"] == response_with("n", given, "BYE", "carol", "s3cret")


async def test_a_far_end_that_is_elsewhere_is_found_by_its_uri() -> None:
    silent = free_port()
    async with answering(481) as (far, port):
        call = replace(CALL, routes=(), target=f"sip:them@127.0.0.1:{port}", hops=(("127.0.0.1", silent),))
        await end_dialogs([left(call)])
    assert [request.first for request in far.asked] == [f"BYE sip:them@127.0.0.1:{port} SIP/2.0"]


async def test_a_far_end_that_does_not_answer_is_logged(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orphans, "RETRANSMIT_S", (0.0, 0.01))
    monkeypatch.setattr(orphans, "ANSWER_S", 0.05)
    await end_dialogs([
        left(replace(CALL, hops=(("127.0.0.1", free_port()),))),
        left(replace(CALL, routes=(), transport="TCP", hops=(("127.0.0.1", free_port()),))),
        left(replace(CALL, end="refuse", transport="TCP")),
    ])  # fmt: skip
    assert caplog.text.count("could not be ended") == 2


@pytest.mark.parametrize("is_tls", [False, True])
async def test_a_connection_is_opened_for_the_bye(is_tls: bool, certificate: Path) -> None:
    far, context = Answering(401, 200), None
    if is_tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _ in range(2):
            writer.write(far.answer(await reader.readuntil(b"\r\n\r\n")).encode())
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    transport = "TLS" if is_tls else "TCP"
    call = replace(CALL, transport=transport, routes=(f"<sip:127.0.0.1:{port};lr>",), hops=(("127.0.0.1", 9),))
    await end_dialogs([left(call, certificate)])
    server.close()
    await server.wait_closed()
    assert ["authorization" in request.headers for request in far.asked] == [False, True]
    assert all(f"SIP/2.0/{transport} 127.0.0.1:" in request["via"] for request in far.asked)


@pytest.mark.parametrize("within_s", [20.0, pytest.param(2.0, marks=pytest.mark.long)])
async def test_the_far_ends_of_a_killed_worker_are_told(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, within_s: float
) -> None:
    monkeypatch.setattr(orphans, "RETRANSMIT_S", (0.0, 0.5))  # a refusal, which is not answered, is repeated so often
    port, peer = free_port(), await Peer.start()
    service.trunks = [
        {
            **TRUNK, "address": peer.address, "username": "carol", "password": "s3cret", "register": False,
            "inbound_authorization_type": "ip", "allowed_inbound_ips": ["127.0.0.0/8"],
        }
    ]  # fmt: skip
    settings = {"host": "127.0.0.1", "port": port, "ca_file": ""}
    try:
        async with running(service, sip=settings) as supervisor:
            # Each worker asks for the trunks once, and again once its leg has them.
            await service.until(lambda: len(service.of("trunks")) >= 4)
            first = await offer(service, 1, peer)
            await first.answer()
            doomed = worker_port(first)
            survivor = port + 2 if doomed == port else port
            ringing = await placed_by(doomed, service, peer, 10)
            ringing.respond(180)
            inbound = await peer.call(f"sip:+12025550100@127.0.0.1:{doomed}", ("127.0.0.1", doomed))
            assert (await inbound.final()).status == 200
            waiting = await peer.call(f"sip:+12025550100@127.0.0.1:{doomed}", ("127.0.0.1", doomed), user=RINGS_ON)
            assert waiting.last.status == 180
            lives = await peer.call(f"sip:+12025550100@127.0.0.1:{survivor}", ("127.0.0.1", survivor))
            assert (await lives.final()).status == 200
            await asyncio.sleep(0.3)
            pid = supervisor.slots[(doomed - port) // 2].pid
            assert pid is not None
            os.kill(pid, signal.SIGKILL)
            killed_at = time.monotonic()
            for dialog, method in ((first, "BYE"), (inbound, "BYE"), (ringing, "CANCEL")):
                assert await until_left(dialog.requests, method) - killed_at < within_s
            assert (await waiting.final()).status == 503
            heard = len(lives.media.received)
            await asyncio.sleep(0.5)
            assert len(lives.media.received) > heard + 15
            assert lives.requests.empty()
            await service.until(lambda: supervisor.slots[(doomed - port) // 2].pid not in (None, pid))
            lives.bye()
            await lives.response()
            await service.until(lambda: not supervisor.slots[(survivor - port) // 2].dialogs)
    finally:
        peer.close()
