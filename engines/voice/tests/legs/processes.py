"""Processes that tests start and end: the leg in one of its own, and programs of others."""

import asyncio
import contextlib
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Self

from .peer import Dialog, Peer

TESTS = Path(__file__).parents[1]
WAIT_S = 60.0


class Process:
    """A program with its output in a file."""

    def __init__(self, *command: str | Path, env: dict[str, str] | None = None) -> None:
        """Name it; `start` runs it."""
        self._command = [str(part) for part in command]
        self._env = {**os.environ, **(env or {})}
        self._output = tempfile.TemporaryFile()  # noqa: SIM115
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Run it."""
        self.process = await asyncio.create_subprocess_exec(
            *self._command, stdin=asyncio.subprocess.PIPE, stdout=self._output, stderr=self._output, env=self._env
        )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.process is not None and self.process.returncode is None

    def output(self) -> str:
        """Return what it wrote."""
        if self._output.closed:
            return self._ended_with
        return os.pread(self._output.fileno(), 1_000_000, 0).decode("utf-8", "replace")

    def errors(self) -> str:
        """Return the end of what it wrote, and how it ended."""
        returned = self.process.returncode if self.process else None
        return f"returned {returned}: {self.output()[-2_000:]}"

    async def wrote(self, text: str) -> None:
        """Wait until it has written something."""
        async with asyncio.timeout(WAIT_S):
            while text not in self.output():
                assert self.alive, self.errors()
                await asyncio.sleep(0.05)

    def tell(self, line: str) -> None:
        """Write a line to its standard input."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n".encode())

    def end_input(self) -> None:
        """Close its standard input."""
        assert self.process is not None
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def ended(self) -> int:
        """Wait for its end; returns its exit code."""
        assert self.process is not None
        return await asyncio.wait_for(self.process.wait(), WAIT_S)

    async def stop(self) -> None:
        """End it, this very process."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        self._ended_with = self.output()
        self._output.close()


class Host(Process):
    """The leg in a process of its own; see `host`."""

    def __init__(self, port: int, certificate: str = "", **settings: object) -> None:
        """Listen on a port, with more of the leg's settings."""
        path = os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])
        arguments = (str(port), certificate, json.dumps(settings))
        super().__init__(sys.executable, "-m", "legs.host", *arguments, env={"PYTHONPATH": path})
        self.port = port

    @classmethod
    async def run(cls, port: int, certificate: str = "", **settings: object) -> Self:
        """Start it and wait until it takes calls."""
        host = cls(port, certificate, **settings)
        await host.start()
        await host.wrote("ready")
        return host

    async def answers_options(self, peer: Peer) -> bool:
        """Return whether it answers OPTIONS (RFC 3261 section 11)."""
        asked = Dialog.outside(peer, f"sip:x@127.0.0.1:{self.port}", ("127.0.0.1", self.port))
        for _ in range(5):  # a datagram may be lost where a flood came before it
            asked.request("OPTIONS")
            with contextlib.suppress(TimeoutError):
                return (await asyncio.wait_for(asked.responses.get(), 2)).status > 0 and self.alive
        return False
