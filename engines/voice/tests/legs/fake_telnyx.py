"""Telnyx's side of its Voice API, for tests: commands, signed webhooks, media. By its documentation, not by the leg."""

import asyncio
import base64
import json
import time
from typing import Any, Self

import aiohttp
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from .fake_stream import Stream

APPLICATION, KEY = "7267000000000000001", "KEYsecret"
WAIT_S = 10.0


class FakeTelnyx:
    """The service, on a port of loopback."""

    session: aiohttp.ClientSession
    _runner: web.AppRunner

    def __init__(self) -> None:
        """Make it; `start` opens its port."""
        self.commands: asyncio.Queue[tuple[str, dict[str, Any]]] = asyncio.Queue()
        self.failing: tuple[int, str] | None = None
        self.url = ""
        self._made = 0
        self._signer = Ed25519PrivateKey.generate()

    @property
    def public_key(self) -> str:
        """The account's public key, as its page shows it."""
        raw = self._signer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        return base64.b64encode(raw).decode()

    @classmethod
    async def start(cls) -> Self:
        """Open the port."""
        telnyx = cls()
        app = web.Application()
        app.add_routes([web.post("/v2/{path:.*}", telnyx._on_command)])
        telnyx._runner = web.AppRunner(app, shutdown_timeout=1)
        await telnyx._runner.setup()
        await web.TCPSite(telnyx._runner, "127.0.0.1", 0).start()
        telnyx.url = f"http://127.0.0.1:{telnyx._runner.addresses[0][1]}/v2"
        telnyx.session = aiohttp.ClientSession()
        return telnyx

    async def close(self) -> None:
        """Close the port."""
        await self.session.close()
        await self._runner.cleanup()

    async def _on_command(self, request: web.Request) -> web.Response:
        if request.headers.get("Authorization") != f"Bearer {KEY}":
            return web.json_response({"errors": [{"code": "10009", "title": "Authentication failed"}]}, status=401)
        if self.failing is not None:
            status, code = self.failing
            return web.json_response({"errors": [{"code": code, "detail": "Not like this"}]}, status=status)
        body = await request.json()
        self.commands.put_nowait((request.match_info["path"], body))
        if request.match_info["path"] != "calls":
            return web.json_response({"data": {"result": "ok"}})
        assert body["connection_id"] == APPLICATION
        self._made += 1
        data = {"call_control_id": f"v3:{self._made}", "call_leg_id": f"leg-{self._made}", "is_alive": False}
        return web.json_response({"data": data})

    async def commanded(self) -> tuple[str, dict[str, Any]]:
        """Return the next command, its path and its members."""
        return await asyncio.wait_for(self.commands.get(), WAIT_S)

    async def tell(self, url: str, event: str, *, at: float = 0.0, forged: bool = False, **payload: Any) -> int:
        """Send a webhook, signed at a time (now); returns the status of its answer."""
        event_of = {"record_type": "event", "event_type": event, "id": "e1", "payload": payload}
        body = json.dumps({"data": event_of, "meta": {"attempt": 1}}).encode()
        return await self.post(url, body, at=at, forged=forged)

    async def post(self, url: str, body: bytes, *, at: float = 0.0, forged: bool = False) -> int:
        """Send any body, signed."""
        timestamp = str(int(at or time.time()))
        signed = self._signer.sign(f"{timestamp}|".encode() + body + b"x" * forged)
        headers = {
            "telnyx-timestamp": timestamp,
            "telnyx-signature-ed25519": base64.b64encode(signed).decode(),
            "Content-Type": "application/json",
        }
        async with self.session.post(url, data=body, headers=headers) as response:
            return response.status

    async def stream(self, members: dict[str, Any], control_id: str) -> Stream:
        """Connect the websocket that a command asked for."""
        stream = Stream(await self.session.ws_connect(members["stream_url"]), {"stream_id": "32DE0DEA"})
        media = {"encoding": "PCMU", "sample_rate": 8000, "channels": 1}
        await stream.begin({"user_id": "u", "call_control_id": control_id, "media_format": media})
        return stream
