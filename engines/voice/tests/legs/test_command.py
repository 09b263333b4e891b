"""The command with its legs, from a call to the metrics."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest_asyncio

from support.fake_service import TOKEN, FakeService
from support.ports import free_port
from switchboard_engine import cli

from .peer import Peer
from .processes import Process

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0


class Command(Process):
    """`switchboard-engine run` with a worker, and the legs of SIP and browsers."""

    def __init__(self, service: FakeService) -> None:
        """Name it."""
        self.sip, self.web, self.health = free_port(), free_port(), free_port()
        super().__init__(
            *(sys.executable, "-m", "switchboard_engine", "run", "--url", service.url, "--workers", "1"),
            *("--name", "desk", "--health", f"127.0.0.1:{self.health}", "--handler", "support.lines:keep_line"),
            *("--leg", "sip", "--sip-listen", f"127.0.0.1:{self.sip}", "--leg", "web"),
            *("--web-listen", f"127.0.0.1:{self.web}", "--web-url", "http://127.0.0.1/{worker}"),
            env={"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}", cli.TOKEN_VARIABLE: TOKEN},
        )

    async def metric(self, pattern: str) -> str:
        """Wait for a line of the metrics."""
        text = ""
        async with aiohttp.ClientSession() as session:
            for _ in range(200):
                async with session.get(f"http://127.0.0.1:{self.health}/metrics") as answer:
                    text = await answer.text()
                found = re.search(pattern, text, re.MULTILINE)
                if found:
                    return found[0]
                await asyncio.sleep(0.1)
        raise AssertionError(f"{pattern} is not in {text}; {self.errors()}")

    async def sip_open(self) -> None:
        """Wait until its port for SIP is open: a datagram that comes before is lost."""
        for _ in range(200):
            if self._is_sip_open():
                return
            await asyncio.sleep(0.1)
        raise AssertionError(f"port {self.sip} stays closed; {self.errors()}")

    def _is_sip_open(self) -> bool:
        return f":{self.sip:04X} " in Path("/proc/net/udp").read_text()

    def worker_pid(self) -> int:
        """Return the process of its worker."""
        assert self.process is not None
        pid = self.process.pid
        (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return int(child)


@pytest_asyncio.fixture
async def command(service: FakeService) -> AsyncIterator[Command]:
    """Run it."""
    command = Command(service)
    try:
        await command.start()
        await service.until(lambda: len(service.of("heartbeat")) > 0, seconds=WAIT_S)
        yield command
    finally:
        await command.stop()


async def test_the_command_carries_calls_counts_refusals_and_hangs_up_after_a_crash(
    service: FakeService, command: Command
) -> None:
    assert service.last("heartbeat", "legs") == ["sip", "web"]
    assert service.last("heartbeat", "web_url") == "http://127.0.0.1/1"
    peer, door = await Peer.start(), ("127.0.0.1", command.sip)
    try:
        await carried_counted_and_hung_up(service, command, peer, door)
    finally:
        peer.close()


async def carried_counted_and_hung_up(
    service: FakeService, command: Command, peer: Peer, door: tuple[str, int]
) -> None:
    """Go through it."""
    await command.sip_open()
    for _ in range(100):
        refused = await peer.call(f"sip:+12025550100@127.0.0.1:{command.sip}", door)
        if refused.last.status == 403:
            break
        assert refused.last.status in (404, 503)  # it is attached before its legs are up
        await asyncio.sleep(0.1)
    assert refused.last.status == 403
    peer.credentials = ("carol", "s3cret")
    trunk = {"kind": "sip", "address": peer.address, "from": "+12025550100", "username": "carol"}
    service.trunks = [
        {**trunk, "trunk_id": 4, "password": "x", "register": False, "inbound_authorization_type": "ip",
         "allowed_inbound_ips": ["127.0.0.1"]},
        {**trunk, "trunk_id": 5, "password": "wrong"},
    ]  # fmt: skip
    service.trunk_version += 1
    service.wake()
    await command.metric(r'^switchboard_engine_trunk_state\{worker="desk-1",trunk="5",state="wrong-credentials"\} 1$')
    assert service.last("claim", "checks") is True
    service.ask_check(1, service.trunks[1])
    await service.until(lambda: 1 in service.checked)
    assert [(step["name"], step["ok"]) for step in service.checked[1]] == [
        ("resolve", True), ("reach", True), ("register", False),
    ]  # fmt: skip
    dialog = await peer.call(f"sip:+12025550100@127.0.0.1:{command.sip}", door)
    assert (await dialog.final()).status == 200
    unknown = await peer.call(f"sip:+19995550100@127.0.0.1:{command.sip}", door)
    assert (await unknown.final()).status == 404
    assert unknown.last.status == 404
    for reason in ("address", "number"):
        await command.metric(
            rf'^switchboard_engine_calls_refused_total\{{worker="desk-1",leg="sip",reason="{reason}"\}} 1$'
        )
    os.kill(command.worker_pid(), signal.SIGKILL)
    await dialog.expect("BYE")


async def opened(url: str) -> int:
    """Return the status of OPTIONS, once the port is open; 0 where it stays closed."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(WAIT_S), aiohttp.ClientSession() as session:
            while True:
                try:
                    async with session.options(url) as answer:
                        return answer.status
                except aiohttp.ClientConnectionError:
                    await asyncio.sleep(0.1)
    return 0


async def test_a_leg_whose_port_is_taken_says_so_and_is_tried_again(service: FakeService) -> None:
    command = Command(service)
    taken = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", command.web)
    try:
        await command.start()
        await command.wrote("the port of the web door is not to be had")
        taken.close()
        await taken.wait_closed()
        await service.until(lambda: len(service.of("heartbeat")) > 0, seconds=WAIT_S)
        assert await opened(f"http://127.0.0.1:{command.web}/web/calls") == 204, command.errors()
    finally:
        await command.stop()
    assert "Traceback" not in command.output()
