"""A vendor on a port of loopback: what it is asked, and how it behaves."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Self

from aiohttp import WSMsgType, web

WAIT_S = 10.0
BREAK_S = 0.2

LETTER_MS = 100
_WAVE = bytes(range(0, 200, 2))


class Behaviour(Enum):
    """How a vendor answers."""

    WELL = auto()
    SILENT = auto()
    """Takes everything, and never answers."""
    UNREACHABLE = auto()
    """Takes the connection, and never completes it."""
    REFUSES = auto()
    """Says that the key is wrong."""
    BREAKS_OFF = auto()
    """Begins to answer, and drops the connection."""
    GARBAGE = auto()
    """Answers what is no message of its dialect."""
    BUSY = auto()
    """Says that there are too many requests."""


@dataclass
class Request:
    """One request or websocket: its path, query and headers, and every message in it."""

    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    messages: list[Any] = field(default_factory=list)
    sound: bytearray = field(default_factory=bytearray)


class FakeVendor:
    """A server of one dialect; subclasses add routes. `behaviour` holds for what comes from then on."""

    def __init__(self) -> None:
        self.behaviour = Behaviour.WELL
        self.requests: list[Request] = []
        self.port = 0
        self._runner: web.AppRunner | None = None
        self._open: set[asyncio.Event] = set()

    def routes(self) -> list[web.RouteDef]:
        raise NotImplementedError

    @property
    def http(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ws(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.add_routes(self.routes())
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def __aexit__(self, *_: object) -> None:
        for event in self._open:
            event.set()
        assert self._runner is not None
        await self._runner.cleanup()

    async def note(self, request: web.Request) -> Request:
        """Note a request; hangs or refuses if that is the behaviour."""
        query = {name: request.query.getall(name) for name in request.query}
        noted = Request(request.path, query, dict(request.headers))
        self.requests.append(noted)
        if self.behaviour is Behaviour.UNREACHABLE:
            await self.hang()
        if self.behaviour is Behaviour.REFUSES:
            raise web.HTTPUnauthorized(text=json.dumps({"error": {"message": "Invalid API key"}}))
        if self.behaviour is Behaviour.BUSY:
            raise web.HTTPTooManyRequests(text=json.dumps({"error": {"message": "Too many requests"}}))
        return noted

    async def hang(self) -> None:
        """Wait until the test is over."""
        event = asyncio.Event()
        self._open.add(event)
        await event.wait()
        raise web.HTTPServiceUnavailable

    async def asked(self, is_it: Callable[[Request], bool]) -> Request:
        """Wait for a request."""
        async with asyncio.timeout(WAIT_S):
            while True:
                for request in self.requests:
                    if is_it(request):
                        return request
                await asyncio.sleep(0.01)

    async def converse(
        self,
        request: web.Request,
        answer: Callable[[web.WebSocketResponse, Request, Any], Awaitable[None]],
        greeting: Any = None,
    ) -> web.WebSocketResponse:
        """Take a websocket, and have each of its messages answered: texts are JSON, sound is bytes."""
        noted = await self.note(request)
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        if greeting is not None and self.behaviour is not Behaviour.SILENT:
            await socket.send_json(greeting)
        async for message in socket:
            content = json.loads(message.data) if message.type is WSMsgType.TEXT else message.data
            if isinstance(content, bytes):
                noted.sound += content
            else:
                noted.messages.append(content)
            if socket.closed or request.transport is None or request.transport.is_closing():
                break
            if self.behaviour is Behaviour.GARBAGE:
                if len(noted.messages) + bool(noted.sound) == 1:
                    await socket.send_str("<html>Bad gateway</html>")
                    noted.messages.append(None)
            elif self.behaviour is not Behaviour.SILENT:
                await answer(socket, noted, content)
        return socket

    async def drop(self, request: web.Request) -> None:
        """Drop a connection without a word, some time after the last."""
        await asyncio.sleep(BREAK_S)
        assert request.transport is not None
        request.transport.abort()


def tone(text: str, *, hz: int = 24_000, letter_ms: int = LETTER_MS) -> bytes:
    """Return 16-bit sound that is as long as speaking a text takes."""
    size = hz * letter_ms // 1_000 * 2 * sum(map(str.isalnum, text))
    return (_WAVE * (size // len(_WAVE) + 1))[:size]


async def pieces(data: bytes, size: int) -> AsyncIterator[bytes]:
    """Yield data in pieces."""
    for at in range(0, len(data), size):
        yield data[at : at + size]
