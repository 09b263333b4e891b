"""Twilio's side of programmable voice, for tests: its REST API, its signed callbacks, its media websocket.

By Twilio's documentation; it shares no code with the leg.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any, Self

import aiohttp
from aiohttp import web

from .sound import FRAME, Samples, decode_pcmu, encode_pcmu

SID, TOKEN = "AC0123", "tw-secret"
WAIT_S = 10.0


class FakeTwilio:
    """The service, on a port of loopback."""

    session: aiohttp.ClientSession
    _runner: web.AppRunner

    def __init__(self) -> None:
        """Make it; `start` opens its port."""
        self.requests: asyncio.Queue[tuple[str, dict[str, str]]] = asyncio.Queue()
        self.failing = 0
        self.url = ""
        self._made = 0

    @classmethod
    async def start(cls) -> Self:
        """Open the port."""
        twilio = cls()
        app = web.Application()
        app.add_routes([web.post("/2010-04-01/Accounts/{account}/{path:.*}", twilio._on_request)])
        twilio._runner = web.AppRunner(app, shutdown_timeout=1)
        await twilio._runner.setup()
        site = web.TCPSite(twilio._runner, "127.0.0.1", 0)
        await site.start()
        twilio.url = f"http://127.0.0.1:{twilio._runner.addresses[0][1]}"
        twilio.session = aiohttp.ClientSession()
        return twilio

    async def close(self) -> None:
        """Close the port."""
        await self.session.close()
        await self._runner.cleanup()

    async def _on_request(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        expected = "Basic " + base64.b64encode(f"{SID}:{TOKEN}".encode()).decode()
        if request.headers.get("Authorization") != expected or request.match_info["account"] != SID:
            return web.json_response({"code": 20003, "message": "Authenticate"}, status=401)
        if self.failing:
            return web.json_response({"code": 21211, "message": "Invalid 'To' Phone Number"}, status=self.failing)
        self._made += 1
        self.requests.put_nowait((request.match_info["path"], form))
        return web.json_response({"sid": f"CA{self._made}", "status": "queued"}, status=201)

    async def asked(self) -> tuple[str, dict[str, str]]:
        """Return the next request, its path below the account and its form."""
        return await asyncio.wait_for(self.requests.get(), WAIT_S)

    async def post(self, url: str, form: dict[str, str], *, token: str = TOKEN) -> tuple[int, str]:
        """Ask or tell the leg, signed; returns status and body."""
        signed = url + "".join(f"{name}{value}" for name, value in sorted(form.items()))
        made = base64.b64encode(hmac.new(token.encode(), signed.encode(), hashlib.sha1).digest()).decode()
        async with self.session.post(url, data=form, headers={"X-Twilio-Signature": made}) as response:
            return response.status, await response.text()

    async def stream(self, twiml: str, call_sid: str) -> "Stream":
        """Connect the websocket that TwiML asks for."""
        url, token = re.search(r'Stream url="([^"]+)"', twiml), re.search(r'name="token" value="([^"]+)"', twiml)
        assert url and token, twiml
        stream = Stream(await self.session.ws_connect(url[1]), call_sid)
        await stream.begin(token[1])
        return stream


@dataclass
class Stream:
    """A call's media: plays what it is sent in real time, as Twilio does."""

    socket: aiohttp.ClientWebSocketResponse
    call_sid: str
    sid: str = "MZ1"
    heard: list[tuple[float, Samples]] = field(default_factory=list)
    cleared: list[float] = field(default_factory=list)
    ahead_ms_max: float = 0.0
    _buffer_until: float = 0.0
    _tasks: list["asyncio.Task[None]"] = field(default_factory=list)

    async def begin(self, token: str) -> None:
        """Say what Twilio says first."""
        await self.send({"event": "connected", "protocol": "Call", "version": "1.0.0"})
        await self.send({
            "event": "start", "sequenceNumber": "1", "streamSid": self.sid,
            "start": {
                "streamSid": self.sid, "accountSid": SID, "callSid": self.call_sid, "tracks": ["inbound"],
                "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
                "customParameters": {"token": token},
            },
        })  # fmt: skip
        self._tasks.append(asyncio.create_task(self._receive()))

    async def send(self, message: dict[str, Any]) -> None:
        """Send any message."""
        await self.socket.send_str(json.dumps(message))

    async def say(self, samples: Samples) -> None:
        """Speak, at the pace of the sound."""
        for at in range(0, len(samples), FRAME):
            payload = base64.b64encode(encode_pcmu(samples[at : at + FRAME])).decode()
            await self.send(
                {"event": "media", "streamSid": self.sid, "media": {"track": "inbound", "payload": payload}}
            )
            await asyncio.sleep(0.02)

    async def press(self, digit: str) -> None:
        """Press a key."""
        await self.send({"event": "dtmf", "streamSid": self.sid, "dtmf": {"track": "inbound_track", "digit": digit}})

    async def stop(self) -> None:
        """End as Twilio does when the call is over."""
        await self.send({"event": "stop", "streamSid": self.sid, "stop": {"callSid": self.call_sid}})
        await self.socket.close()

    async def _receive(self) -> None:
        async for message in self.socket:
            content = json.loads(message.data)
            assert content["streamSid"] == self.sid
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
        await self.send({"event": "mark", "streamSid": self.sid, "mark": {"name": name}})
