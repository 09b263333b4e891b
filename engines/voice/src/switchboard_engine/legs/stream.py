"""Calls whose sound comes over a websocket: the sound itself, the line, and the leg with the websocket's door.

The sound is PCMU at 8 kHz. The far side plays what it has been sent, however much that is: so no more than `AHEAD_MS`
are sent ahead of their time, and an interruption clears even those. A mark comes back when everything before it was
played.
"""

import asyncio
import base64
import contextlib
import json
import logging
import secrets
from abc import abstractmethod
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from typing import Any, Generic, Protocol, TypeVar

import aiohttp
from aiohttp import web

from ..dialogs import dialogs
from . import pcmu, tones
from .base import BaseLine, Doorway
from .leg import Arrival, Dtmf, Ended, Leg, LegError, Outcome, Telephony
from .resample import Resampler
from .transport import FRAME_MS, PIPELINE_HZ, LineTransport

_log = logging.getLogger(__name__)

WIRE_HZ = 8_000
AHEAD_MS = 100  # bridges the jitter of the way there; less stutters on a busy one
RECEIVED_MAX_BYTES = 2 * PIPELINE_HZ * 2  # two seconds that nobody read: older is dropped
MARK_TIMEOUT_S = 2.0
MESSAGE_MAX_BYTES = 64 * 1024
BODY_MAX_BYTES = 64 * 1024
START_S = 10.0  # from the websocket's opening to its first words
KEY_MS = 100  # nobody tells for how long a key was pressed
_KEYS = frozenset("0123456789*#ABCD")
_FRAME_BYTES = WIRE_HZ * FRAME_MS // 1000 * 2


def new_token() -> str:
    """Return what proves that a stream is of a call, and cannot be guessed."""
    return secrets.token_urlsafe(24)


Socket = web.WebSocketResponse | aiohttp.ClientWebSocketResponse


class Wire(Protocol):
    """How a provider writes the three things that it is told."""

    def audio(self, payload: bytes) -> str | bytes:
        """Return the message that has PCMU played."""

    def clear(self) -> str:
        """Return the message that drops what was not played yet."""

    def mark(self, name: str) -> str:
        """Return the message that is answered when everything before it was played."""


class JsonWire:
    """The messages of Twilio, which others have taken over; `members` are in each."""

    def __init__(self, members: Mapping[str, str] | None = None) -> None:
        """Name the stream, where the provider wants that."""
        self._members = dict(members or {})

    def audio(self, payload: bytes) -> str:
        """Return a `media` message."""
        return self._message("media", media={"payload": base64.b64encode(payload).decode()})

    def clear(self) -> str:
        """Return a `clear` message."""
        return self._message("clear")

    def mark(self, name: str) -> str:
        """Return a `mark` message."""
        return self._message("mark", mark={"name": name})

    def _message(self, event: str, **members: object) -> str:
        return json.dumps({"event": event, **members, **self._members})


class MediaStream:
    """The `LineAudio` of a media stream."""

    def __init__(self) -> None:
        """Wait for the websocket; `open` gives it."""
        self._opened = asyncio.Event()
        self._closed = False
        self._socket: Socket | None = None
        self._wire: Wire = JsonWire()
        self._received = bytearray()
        self._up = Resampler(WIRE_HZ, PIPELINE_HZ)
        self._down: Resampler | None = None
        self._pending = b""
        self._played_until = 0.0
        self._flushes = 0
        self._marks: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._now: Callable[[], float] = asyncio.get_running_loop().time

    def open(self, socket: Socket, wire: Wire) -> None:
        """Let audio flow, unless the line is over."""
        self._socket, self._wire = socket, wire
        if self._closed:
            self._spawn(socket.close())
        self._opened.set()

    def close(self) -> None:
        """Let waiting writes return and close the websocket: the line is over."""
        self._closed = True
        if self._socket is not None:
            self._spawn(self._socket.close())
        self._opened.set()
        for mark in self._marks.values():
            mark.set()

    @property
    def flows(self) -> bool:
        """Whether the line is answered and not over."""
        return self._opened.is_set() and not self._closed

    def take(self, payload: bytes) -> None:
        """Take PCMU that was received."""
        self._received += self._up.process(pcmu.decode(payload))
        excess = len(self._received) - RECEIVED_MAX_BYTES
        if excess > 0:
            del self._received[:excess]

    def marked(self, name: str) -> None:
        """Take a `mark` message: what came before it has been played, or was cleared."""
        mark = self._marks.pop(name, None)
        if mark is not None:
            mark.set()

    def read(self) -> bytes:
        """Take what was received since the last call."""
        pcm = bytes(self._received)
        self._received.clear()
        return pcm

    async def write(self, pcm: bytes, sample_hz: int) -> bool:
        """Send, at most `AHEAD_MS` ahead of the time at which it is heard."""
        await self._opened.wait()
        if self._down is None or self._down.source_hz != sample_hz:
            self._down = Resampler(sample_hz, WIRE_HZ)
        self._pending += self._down.process(pcm)
        flushes = self._flushes
        while len(self._pending) >= _FRAME_BYTES and not self._closed and self._flushes == flushes:
            frame, self._pending = self._pending[:_FRAME_BYTES], self._pending[_FRAME_BYTES:]
            now = self._now()
            self._played_until = max(self._played_until, now) + FRAME_MS / 1000
            await self._send(self._wire.audio(pcmu.encode(frame)))
            await asyncio.sleep(max(0.0, self._played_until - now - AHEAD_MS / 1000))
        return not self._closed

    async def drain(self) -> None:
        """Wait until everything was played."""
        if not self.flows:
            return
        name = f"m{len(self._marks)}.{self._now()}"
        mark = self._marks[name] = asyncio.Event()
        await self._send(self._wire.mark(name))
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(mark.wait(), MARK_TIMEOUT_S)
        self._marks.pop(name, None)

    def flush(self) -> None:
        """Drop what was not played yet."""
        self._flushes += 1
        self._pending, self._played_until = b"", 0.0
        if self._down is not None:
            self._down.reset()
        if self.flows:
            self._spawn(self._send(self._wire.clear()))

    def _spawn(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, message: str | bytes) -> None:
        if self._socket is None or self._socket.closed:
            return
        # A socket that closes meanwhile ends the line by its reader.
        with contextlib.suppress(ConnectionError):
            await (self._socket.send_bytes(message) if isinstance(message, bytes) else self._socket.send_str(message))


class StreamLine(BaseLine):
    """A `Line` on a media stream: the network tells of it by requests and by the websocket, and the first word counts.

    It has no hold, and keys are sent as sound, where the network has nothing better.
    """

    def __init__(self, external_id: str) -> None:
        """Take a call over."""
        super().__init__()
        self.audio = MediaStream()
        self._external_id = external_id
        self._transport = LineTransport(self.audio, self.send_dtmf)

    @property
    def external_id(self) -> str:
        """The network's id of the call."""
        return self._external_id

    @property
    def transport(self) -> LineTransport:
        """The ends of the pipeline."""
        return self._transport

    def pressed(self, digit: str, duration_ms: int = KEY_MS) -> None:
        """Note that the customer pressed a key; `ValueError` for what is none."""
        if digit not in _KEYS:
            raise ValueError(f"{digit!r} is not a key")
        self._queue.put_nowait(Dtmf(digit, duration_ms))
        self.spawn(self._transport.pressed(digit))

    async def send_dtmf(self, digits: str) -> None:
        """Press keys by their sound."""
        self._require_up()
        await self.audio.write(tones.keys(digits, PIPELINE_HZ), PIPELINE_HZ)

    async def hold(self) -> None:
        """Raise `LegError`: a media stream has no hold."""
        raise LegError("a media stream cannot hold a call")

    async def resume(self) -> None:
        """Raise `LegError`: a media stream has no hold."""
        raise LegError("a media stream cannot hold a call")

    def _close(self, ended: Ended) -> None:
        del ended
        self.audio.close()


S = TypeVar("S", bound=StreamLine)


class StreamLeg(Leg, Generic[S]):
    """A `Leg` whose provider opens a websocket to us for each call, and proves by a token which call it is."""

    kind: str

    def __init__(self, name: str, host: str, port: int) -> None:
        """Prepare; `start` opens the port."""
        self._doorway: Doorway[S] = Doorway(name)
        self._host, self._port = host, port
        self._tokens: dict[str, S] = {}
        self._trunks: tuple[Telephony, ...] = ()
        self._session: aiohttp.ClientSession | None = None

    @abstractmethod
    def _routes(self) -> Iterable[web.RouteDef]:
        """Return what the web server serves besides the media."""

    @abstractmethod
    def _begin(self, request: web.Request, content: Mapping[str, Any]) -> tuple[S, Wire] | None:
        """Return the line of a stream by its first words, by `_redeem`; None where it proves nothing."""

    @property
    def refused(self) -> Mapping[str, int]:
        """Requests with a wrong `signature`, and media with a wrong `token`."""
        return self._doorway.refused

    async def start(self) -> None:
        """Open the web server's port.

        Raises:
            LegError: it is not to be had.
        """
        app = web.Application(client_max_size=BODY_MAX_BYTES)
        app.add_routes([*self._routes(), web.get(f"/{self.kind}/media", self._on_media)])
        self._session = aiohttp.ClientSession()
        try:
            await self._doorway.open(app, self._host, self._port)
        except LegError:
            await self._session.close()
            raise

    async def stop(self) -> None:
        """Hang up all lines and close the port."""
        await self._doorway.close()
        if self._session is not None:
            await self._session.close()

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        """Let in the calls to exactly these numbers."""
        self._trunks = tuple(trunk for trunk in trunks if trunk.kind == self.kind)

    def incoming(self) -> AsyncIterator[Arrival]:
        """Calls to our numbers."""
        return self._doorway.arrivals()

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise LegError("the leg is not started")
        return self._session

    def _adopt(self, line: S, token: str, data: Mapping[str, Any]) -> None:
        """Keep a line until it is over, for the stream that shows this token; `data` is for the orphan hook."""
        self._tokens[token] = line
        self._doorway.adopt(line)
        dialogs.up(self.kind, line.external_id, data)

        def forget(_: object) -> None:
            self._tokens.pop(token, None)
            dialogs.down(self.kind, line.external_id)

        line.on_ended.append(forget)

    def _redeem(self, token: str, line_is: Callable[[S], bool]) -> S | None:
        """Return the line of a token, once, if it is the one that the stream says it is of."""
        line = self._tokens.pop(token, None)
        return line if line is not None and line_is(line) else None

    async def _on_media(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=MESSAGE_MAX_BYTES)
        await socket.prepare(request)
        line: S | None = None
        stranger = asyncio.get_running_loop().call_later(START_S, self._close_stranger, socket)
        try:
            async for message in socket:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    break
                try:
                    content = json.loads(message.data)
                    if line is not None:
                        if not self._take(line, content):
                            break
                    elif content["event"] == "start":
                        begun = self._begin(request, content)
                        if begun is None:
                            self._doorway.refused["token"] += 1
                            break
                        stranger.cancel()
                        line = begun[0]
                        line.audio.open(socket, begun[1])
                        line.answered()
                except (ValueError, KeyError, TypeError) as error:
                    _log.warning("a media message could not be read: %s", error)
        finally:
            stranger.cancel()
            if line is not None:
                line.end("customer", Outcome.COMPLETED, "the stream ended")
        await socket.close()
        return socket

    def _close_stranger(self, socket: web.WebSocketResponse) -> None:
        """Close a websocket that has not said which call it is of."""
        self._closing = asyncio.ensure_future(socket.close())

    @staticmethod
    def _take(line: S, content: Mapping[str, Any]) -> bool:
        """Take a message; returns whether the stream goes on."""
        match content["event"]:
            case "media":
                line.audio.take(base64.b64decode(content["media"]["payload"]))
            case "mark":
                line.audio.marked(content["mark"]["name"])
            case "dtmf":
                line.pressed(content["dtmf"]["digit"])
            case "stop":
                return False
        return True
