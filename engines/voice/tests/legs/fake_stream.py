"""The far side of a media stream, for tests; it shares no code with the legs."""

import asyncio
import base64
import json
import time
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from .sound import FRAME, Samples, decode_pcmu, encode_pcmu

WAIT_S = 10.0


@dataclass
class Stream:
    """A call's media in Twilio's messages, which Telnyx has too: plays what it is sent in real time.

    `names` are the members by which each message names the stream, `echoed` those that the leg must say too.
    """

    socket: aiohttp.ClientWebSocketResponse
    names: dict[str, str]
    echoed: dict[str, str] = field(default_factory=dict)
    heard: list[tuple[float, Samples]] = field(default_factory=list)
    cleared: list[float] = field(default_factory=list)
    ahead_ms_max: float = 0.0
    _buffer_until: float = 0.0
    _tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    async def begin(self, start: dict[str, Any]) -> None:
        """Say what a provider says first."""
        await self.send({"event": "connected", "version": "1.0.0"})
        await self.send({"event": "start", "sequence_number": "1", "start": start})
        self._tasks.append(asyncio.create_task(self._receive()))

    async def send(self, message: dict[str, Any]) -> None:
        """Send any message."""
        await self.socket.send_str(json.dumps(message | self.names))

    async def say(self, samples: Samples) -> None:
        """Speak, at the pace of the sound."""
        for at in range(0, len(samples), FRAME):
            payload = base64.b64encode(encode_pcmu(samples[at : at + FRAME])).decode()
            await self.send({"event": "media", "media": {"track": "inbound", "payload": payload}})
            await asyncio.sleep(0.02)

    async def press(self, digit: str) -> None:
        """Press a key."""
        await self.send({"event": "dtmf", "dtmf": {"track": "inbound_track", "digit": digit}})

    async def stop(self) -> None:
        """End as when the call is over."""
        await self.send({"event": "stop", "stop": {}})
        await self.socket.close()

    async def closed(self) -> None:
        """Wait until the leg has closed it."""
        await asyncio.wait(self._tasks, timeout=WAIT_S)
        assert self.socket.closed

    async def _receive(self) -> None:
        async for message in self.socket:
            content = json.loads(message.data)
            assert content | self.echoed == content
            now = time.time()
            match content["event"]:
                case "media":
                    samples = decode_pcmu(base64.b64decode(content["media"]["payload"]))
                    self._buffer_until = max(self._buffer_until, now) + len(samples) / 8000
                    self.ahead_ms_max = max(self.ahead_ms_max, 1000 * (self._buffer_until - now))
                    self.heard.append((now, samples))
                case "clear":
                    self.cleared.append(now)
                    self._buffer_until = now
                case "mark":
                    self._tasks.append(asyncio.create_task(self._mark(content["mark"]["name"])))

    async def _mark(self, name: str) -> None:
        await asyncio.sleep(max(0.0, self._buffer_until - time.time()))
        await self.send({"event": "mark", "mark": {"name": name}})
