"""The leg of browsers: one HTTP request for the offer and its answer, then WebRTC.

`POST /web/calls` with `{"token", "sdp"}` is answered when the conversation has taken the call: 200 `{"sdp"}`, or the
status that it refuses with. A browser proves itself by the token alone, no cookie is read, so any page may ask.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable

from aiohttp import web
from pipecat.transports.smallwebrtc.connection import IceServer, SmallWebRTCConnection
from typing_extensions import override

from ..leg import RING_TIMEOUT_S, Arrival, Leg, LegError, Line, OnTrunk, Outcome, Telephony
from ..settings import WebSettings
from .line import WebLine

DECIDE_S = 15.0
CONNECT_S = 20.0
SHUTDOWN_S = 2.0
BODY_MAX_BYTES = 64 * 1024
WAITING_MAX = 64
TOKEN_MAX = 512
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type",
}


class WebArrival:
    """A browser that waits for an answer."""

    def __init__(self, line: WebLine, token: str, origin: str) -> None:
        """Take its request."""
        self.decision: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._line, self._token, self._origin = line, token, origin

    @property
    def line(self) -> Line:
        """Its line."""
        return self._line

    @property
    def from_(self) -> str:
        """The page's origin, as the browser tells it."""
        return self._origin

    @property
    def to(self) -> str:
        """Empty: the token says whom it is for."""
        return ""

    @property
    def external_id(self) -> str:
        """As of the line."""
        return self._line.external_id

    @property
    def trunk_id(self) -> str:
        """Empty: there is none."""
        return ""

    @property
    def token(self) -> str:
        """What the browser showed."""
        return self._token

    async def ring(self) -> None:
        """Do nothing: the page knows that it waits."""

    async def answer(self) -> Line:
        """Send the answer to the browser's offer."""
        if self.decision.done():
            raise LegError("the browser has gone")
        self.decision.set_result(200)
        return self._line

    async def reject(self, status: int = 486) -> None:
        """Refuse with an HTTP status of 400 to 599; another is told as 403."""
        if not self.decision.done():
            self.decision.set_result(status if status in range(400, 600) else 403)


class WebLeg(Leg):
    """A `Leg` of browsers."""

    def __init__(self, settings: WebSettings, on_trunk: OnTrunk | None = None) -> None:
        """Prepare; `start` opens the door. There are no trunks to tell of: `on_trunk` is never called."""
        del on_trunk
        self._settings = settings
        self._lines: set[WebLine] = set()
        self._waiting = 0
        self._arrivals: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Open the door.

        Raises:
            LegError: the port is not to be had.
        """
        app = web.Application(client_max_size=BODY_MAX_BYTES)
        app.add_routes([web.post("/web/calls", self._on_call), web.options("/web/calls", self._on_options)])
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._settings.host, self._settings.port).start()
        except OSError as error:
            raise LegError(f"the web door's port is not to be had: {error}") from error

    @override
    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Raise `LegError`: browsers call, they are not called."""
        raise LegError("a browser cannot be called")

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        """Do nothing: browsers come without a trunk."""

    def incoming(self) -> AsyncIterator[Arrival]:
        """Browsers that want to talk."""
        return self._incoming()

    async def _incoming(self) -> AsyncIterator[Arrival]:
        while (arrival := await self._arrivals.get()) is not None:
            yield arrival

    async def stop(self) -> None:
        """Close all connections and the door."""
        for line in list(self._lines):
            await line.hangup()
        if self._runner is not None:
            await self._runner.cleanup()
        self._arrivals.put_nowait(None)

    async def _on_options(self, _: web.Request) -> web.Response:
        return web.Response(status=204, headers=_CORS)

    async def _on_call(self, request: web.Request) -> web.Response:
        try:
            content = await request.json()
            token, sdp = content["token"], content["sdp"]
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
            return _refused(400)
        if not (isinstance(token, str) and isinstance(sdp, str) and 0 < len(token) <= TOKEN_MAX):
            return _refused(400)
        if self._waiting >= WAITING_MAX:
            return _refused(503)
        self._waiting += 1
        try:
            return await self._offer(token, sdp, request.headers.get("Origin", ""))
        finally:
            self._waiting -= 1

    async def _offer(self, token: str, sdp: str, origin: str) -> web.Response:
        line = WebLine(SmallWebRTCConnection([IceServer(urls=url) for url in self._settings.ice_servers]))
        self._lines.add(line)
        line.on_ended.append(lambda _: self._lines.discard(line))
        arrival = WebArrival(line, token, origin)
        self._arrivals.put_nowait(arrival)
        try:
            status = await asyncio.wait_for(asyncio.shield(arrival.decision), DECIDE_S)
        except TimeoutError:
            arrival.decision.cancel()
            status = 503
        if status != web.HTTPOk.status_code:
            line.end("assistant", Outcome.REJECTED, str(status))
            return _refused(status)
        try:
            answer = await line.accept(sdp)
        except LegError:
            return _refused(400)
        line.connect_within(CONNECT_S)
        return web.json_response({"sdp": answer}, headers=_CORS)


def _refused(status: int) -> web.Response:
    return web.json_response({"message": "The call was refused."}, status=status, headers=_CORS)
