"""Asterisk's REST interface and its websocket channel, for tests: what of them the leg uses. No code of the leg's."""

import asyncio
import base64
import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from aiohttp import web

from .sound import FRAME, Samples, decode_pcmu, encode_pcmu

USER, PASSWORD, APP = "engine", "as-secret", "switchboard"
WAIT_S = 10.0


@dataclass
class Media:
    """The websocket of a media channel, in a bridge."""

    socket: web.WebSocketResponse
    heard: list[tuple[float, Samples]] = field(default_factory=list)
    flushed: list[float] = field(default_factory=list)

    async def say(self, samples: Samples) -> None:
        """Speak, at the pace of the sound."""
        for at in range(0, len(samples), FRAME):
            await self.socket.send_bytes(encode_pcmu(samples[at : at + FRAME]))
            await asyncio.sleep(0.02)


class FakeAsterisk:
    """The service, on a port of loopback."""

    _runner: web.AppRunner

    def __init__(self) -> None:
        """Make it; `start` opens its port."""
        self.requests: asyncio.Queue[tuple[str, str, dict[str, str]]] = asyncio.Queue()
        self.seen: list[tuple[str, str]] = []
        self.channels: dict[str, dict[str, Any]] = {}
        self.medias: dict[str, Media] = {}
        self.failing: dict[str, int] = {}
        self.is_open = True
        self.speaks_media = True
        self.url = ""
        self.attached = asyncio.Event()
        self._events: web.WebSocketResponse | None = None

    @classmethod
    async def start(cls) -> Self:
        """Open the port."""
        asterisk = cls()
        app = web.Application()
        app.add_routes(
            [
                web.get("/ari/events", asterisk._on_events),
                web.get("/media/{id}", asterisk._on_media),
                web.route("*", "/ari/{path:.*}", asterisk._on_request),
            ]
        )
        asterisk._runner = web.AppRunner(app, shutdown_timeout=1)
        await asterisk._runner.setup()
        await web.TCPSite(asterisk._runner, "127.0.0.1", 0).start()
        asterisk.url = f"http://127.0.0.1:{asterisk._runner.addresses[0][1]}"
        return asterisk

    async def close(self) -> None:
        """Close the port."""
        await self._runner.cleanup()

    async def drop_events(self) -> None:
        """Break the connection for events."""
        self.attached.clear()
        assert self._events is not None
        await self._events.close()

    async def tell(self, event: str, channel_id: str = "", **members: Any) -> None:
        """Send an event."""
        assert self._events is not None
        channel = {"channel": self.channels[channel_id]} if channel_id else {}
        with contextlib.suppress(ConnectionError):  # the leg has gone
            await self._events.send_str(json.dumps({"type": event, "application": APP, **channel, **members}))

    async def tell_raw(self, text: str) -> None:
        """Send anything in an event's place."""
        assert self._events is not None
        await self._events.send_str(text)

    async def enter(self, channel_id: str, *, args: tuple[str, ...] = ("4",), **members: Any) -> None:
        """Have the dialplan hand a call over."""
        self.channels[channel_id] = {
            "id": channel_id, "name": f"PJSIP/{channel_id}", "state": "Ring", "protocol_id": f"call-{channel_id}",
            "caller": {"name": "", "number": "+15550100"}, "dialplan": {"exten": "+12025550100", "context": "in"},
            **members,
        }  # fmt: skip
        await self.tell("StasisStart", channel_id, args=list(args))

    async def state(self, channel_id: str, state: str) -> None:
        """Change a channel's state, and tell."""
        self.channels[channel_id]["state"] = state
        await self.tell("ChannelStateChange", channel_id)

    async def dialed(self, channel_id: str, status: str) -> None:
        """Tell how a dial goes."""
        await self.tell("Dial", dialstatus=status, peer=self.channels[channel_id])
        if status == "ANSWER":
            await self.state(channel_id, "Up")

    async def destroy(self, channel_id: str, cause: int, text: str = "") -> None:
        """End a channel, and tell."""
        await self.tell("ChannelDestroyed", channel_id, cause=cause, cause_txt=text)
        del self.channels[channel_id]

    async def asked(self, method: str, path: str) -> dict[str, str]:
        """Return the members of the next request of a kind, passing over others; `*` in a path stands for an id."""
        async with asyncio.timeout(WAIT_S):
            while True:
                found, at, members = await self.requests.get()
                if found == method and _matches(at, path):
                    return {"path": at, **members}

    async def _on_events(self, request: web.Request) -> web.StreamResponse:
        if not self._is_allowed(request) or not self.is_open:
            return web.Response(status=401 if self.is_open else 503)
        assert request.query["app"] == APP
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self._events = socket
        self.attached.set()
        async for _ in socket:
            continue
        return socket

    @staticmethod
    def _is_allowed(request: web.Request) -> bool:
        expected = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return request.headers.get("Authorization") == expected

    async def _on_media(self, request: web.Request) -> web.StreamResponse:
        assert request.headers["Sec-WebSocket-Protocol"] == "media"
        socket = web.WebSocketResponse(protocols=("media",))
        await socket.prepare(request)
        media = self.medias[request.match_info["id"]] = Media(socket)
        if self.speaks_media:
            await socket.send_str(json.dumps({"event": "MEDIA_START", "format": "ulaw", "optimal_frame_size": 160}))
        async for message in socket:
            if isinstance(message.data, bytes):
                media.heard.append((time.time(), decode_pcmu(message.data)))
                continue
            command = json.loads(message.data)
            if command["command"] == "FLUSH_MEDIA":
                media.flushed.append(time.time())
            elif command["command"] == "MARK_MEDIA":
                mark = {"event": "MEDIA_MARK_PROCESSED", "correlation_id": command["correlation_id"]}
                await socket.send_str(json.dumps(mark))
        return socket

    async def _on_request(self, request: web.Request) -> web.Response:
        path, members = request.match_info["path"], dict(request.query)
        if not self._is_allowed(request):
            return web.json_response({"message": "Authentication required"}, status=401)
        for part, status in self.failing.items():
            if part in path:
                return web.json_response({"message": "Not like this"}, status=status)
        self.requests.put_nowait((request.method, path, members))
        self.seen.append((request.method, path))
        return await self._answer(request.method, path.split("/"), members)

    async def _answer(self, method: str, parts: list[str], members: Mapping[str, str]) -> web.Response:
        answer: dict[str, Any] = {}
        match method, parts:
            case "POST", ["channels", "create"]:
                answer = await self._create(members["channelId"])
            case "POST", ["channels", "externalMedia"]:
                assert (members["transport"], members["connection_type"]) == ("websocket", "server")
                answer = await self._create(members["channelId"])
                answer = {**answer, "channelvars": {"MEDIA_WEBSOCKET_CONNECTION_ID": members["channelId"]}}
            case _, ["channels", channel_id, *_] if channel_id not in self.channels:
                return web.json_response({"message": "Channel not found"}, status=404)
            case "POST", ["channels", channel_id, "answer"]:
                await self.state(channel_id, "Up")
            case "GET", ["channels", channel_id]:
                answer = self.channels[channel_id]
            case "DELETE", ["channels", channel_id]:
                if media := self.medias.get(channel_id):
                    await media.socket.close()
                await self.destroy(channel_id, 16, "Normal Clearing")
            case _:
                pass
        return web.json_response(answer)

    async def _create(self, channel_id: str) -> dict[str, Any]:
        self.channels[channel_id] = {"id": channel_id, "state": "Down", "protocol_id": f"call-{channel_id}"}
        asyncio.get_running_loop().call_later(0.01, lambda: asyncio.ensure_future(self._enter_ours(channel_id)))
        return self.channels[channel_id]

    async def _enter_ours(self, channel_id: str) -> None:
        if channel_id in self.channels:
            await self.tell("StasisStart", channel_id, args=[])


def _matches(path: str, pattern: str) -> bool:
    parts, wanted = path.split("/"), pattern.split("/")
    return len(parts) == len(wanted) and all(want in ("*", part) for part, want in zip(parts, wanted, strict=True))
