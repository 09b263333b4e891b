"""Twilio's side of programmable voice, for tests: its REST API, its signed callbacks, its media websocket.

By Twilio's documentation; it shares no code with the leg.
"""

import asyncio
import base64
import hashlib
import hmac
import re
from typing import Self

import aiohttp
from aiohttp import web

from .fake_stream import Stream

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

    async def stream(self, twiml: str, call_sid: str) -> Stream:
        """Connect the websocket that TwiML asks for."""
        url, token = re.search(r'Stream url="([^"]+)"', twiml), re.search(r'name="token" value="([^"]+)"', twiml)
        assert url and token, twiml
        stream = Stream(await self.session.ws_connect(url[1]), {"streamSid": "MZ1"}, echoed={"streamSid": "MZ1"})
        await stream.begin({
            "streamSid": "MZ1", "accountSid": SID, "callSid": call_sid, "tracks": ["inbound"],
            "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
            "customParameters": {"token": token[1]},
        })  # fmt: skip
        return stream
