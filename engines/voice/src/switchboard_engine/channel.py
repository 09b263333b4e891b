"""Messages between a supervisor and a worker: JSON objects, one a line, over a socket that both inherit.

What was sent before a process died is still read: the socket's buffer outlives it.
"""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self

_MESSAGE_BYTES_MAX = 1 << 20


class Channel:
    """One end of the socket."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, end: socket.socket) -> Self:
        """Take over an end of a socket pair."""
        return cls(*await asyncio.open_unix_connection(sock=end, limit=_MESSAGE_BYTES_MAX))

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message at once; one to a process that is gone is lost."""
        if not self._writer.is_closing():
            self._writer.write(json.dumps(message, separators=(",", ":")).encode() + b"\n")

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None when the other end is closed."""
        try:
            line = await self._reader.readline()
        except (ConnectionError, ValueError):
            return None
        # A line without its end is what a process was writing when it died.
        return json.loads(line) if line.endswith(b"\n") else None

    async def messages(self) -> AsyncIterator[dict[str, Any]]:
        """Return messages until the other end is closed."""
        while (message := await self.receive()) is not None:
            yield message

    async def close(self) -> None:
        """Close this end."""
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return
