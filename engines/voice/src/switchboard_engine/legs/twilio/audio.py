"""The sound of a media stream: PCMU at 8 kHz in JSON messages of a websocket.

Twilio plays what it has been sent, however much that is: so no more than `AHEAD_MS` are sent ahead of their time, and
an interruption clears even those (`clear`). A `mark` comes back when everything before it has been played.
"""

import asyncio
import base64
import contextlib
import json
from collections.abc import Callable, Coroutine
from typing import Any

from aiohttp import web

from .. import pcmu
from ..resample import Resampler
from ..transport import FRAME_MS, PIPELINE_HZ

WIRE_HZ = 8_000
AHEAD_MS = 100  # bridges the jitter of the way there; less stutters on a busy one
RECEIVED_MAX_BYTES = 2 * WIRE_HZ * 2  # two seconds that nobody read: older is dropped
MARK_TIMEOUT_S = 2.0
_FRAME_BYTES = WIRE_HZ * FRAME_MS // 1000 * 2


class MediaStream:
    """The `LineAudio` of a media stream."""

    def __init__(self) -> None:
        """Wait for the websocket; `open` gives it."""
        self._opened = asyncio.Event()
        self._closed = False
        self._socket: web.WebSocketResponse | None = None
        self._stream_sid = ""
        self._received = bytearray()
        self._up = Resampler(WIRE_HZ, PIPELINE_HZ)
        self._down: Resampler | None = None
        self._pending = b""
        self._played_until = 0.0
        self._flushes = 0
        self._marks: dict[str, asyncio.Event] = {}
        self._tasks: set[asyncio.Task[object]] = set()
        self._now: Callable[[], float] = asyncio.get_running_loop().time

    def open(self, socket: web.WebSocketResponse, stream_sid: str) -> None:
        """Let audio flow."""
        self._socket, self._stream_sid = socket, stream_sid
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

    def take(self, payload: str) -> None:
        """Take a `media` message's payload, base64."""
        self._received += self._up.process(pcmu.decode(base64.b64decode(payload)))
        excess = len(self._received) - RECEIVED_MAX_BYTES * PIPELINE_HZ // WIRE_HZ
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
            await self._send({"event": "media", "media": {"payload": base64.b64encode(pcmu.encode(frame)).decode()}})
            await asyncio.sleep(max(0.0, self._played_until - now - AHEAD_MS / 1000))
        return not self._closed

    async def drain(self) -> None:
        """Wait until Twilio has played everything."""
        if not self.flows:
            return
        name = f"m{len(self._marks)}.{self._now()}"
        mark = self._marks[name] = asyncio.Event()
        await self._send({"event": "mark", "mark": {"name": name}})
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(mark.wait(), MARK_TIMEOUT_S)
        self._marks.pop(name, None)

    def flush(self) -> None:
        """Clear what Twilio has not played yet."""
        self._flushes += 1
        self._pending, self._played_until = b"", 0.0
        if self._down is not None:
            self._down.reset()
        if self.flows:
            self._spawn(self._send({"event": "clear"}))

    def _spawn(self, work: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, message: dict[str, object]) -> None:
        if self._socket is None or self._socket.closed:
            return
        # A socket that closes meanwhile ends the line by its reader.
        with contextlib.suppress(ConnectionError):
            await self._socket.send_str(json.dumps(message | {"streamSid": self._stream_sid}))
