"""The leg of browsers: one HTTP request for the offer and its answer, then WebRTC.

`POST /web/calls` with `{"token", "sdp"}` is answered when the conversation has taken the call: 200 `{"sdp"}`, or the
status that it refuses with. A browser proves itself by the token alone, no cookie is read, so any page may ask.
"""

import json
from collections.abc import AsyncIterator, Iterable, Mapping

from aiohttp import web
from pipecat.transports.smallwebrtc.connection import IceServer, SmallWebRTCConnection
from typing_extensions import override

from ..base import OK, BaseArrival, Doorway
from ..leg import RING_TIMEOUT_S, Arrival, Leg, LegError, Line, OnTrunk, Outcome, Telephony
from ..settings import WebSettings
from .line import WebLine

DECIDE_S = 15.0
CONNECT_S = 20.0
BODY_MAX_BYTES = 64 * 1024
WAITING_MAX = 64
TOKEN_MAX = 512
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST",
    "Access-Control-Allow-Headers": "Content-Type",
}


class WebLeg(Leg):
    """A `Leg` of browsers."""

    def __init__(self, settings: WebSettings, on_trunk: OnTrunk | None = None) -> None:
        """Prepare; `start` opens the door. There are no trunks to tell of: `on_trunk` is never called."""
        del on_trunk
        self._settings = settings
        self._doorway: Doorway[WebLine] = Doorway("the web door")
        self._waiting = 0

    @property
    def refused(self) -> Mapping[str, int]:
        """Requests that came when too many `waiting` ones were there, and those that are none (`request`)."""
        return self._doorway.refused

    async def start(self) -> None:
        """Open the door.

        Raises:
            LegError: the port is not to be had.
        """
        app = web.Application(client_max_size=BODY_MAX_BYTES)
        app.add_routes([web.post("/web/calls", self._on_call), web.options("/web/calls", self._on_options)])
        await self._doorway.open(app, self._settings.host, self._settings.port)

    async def stop(self) -> None:
        """Close all connections and the door."""
        await self._doorway.close()

    @override
    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Raise `LegError`: browsers call, they are not called."""
        raise LegError("a browser cannot be called")

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        """Do nothing: browsers come without a trunk."""

    def incoming(self) -> AsyncIterator[Arrival]:
        """Browsers that want to talk."""
        return self._doorway.arrivals()

    async def _on_options(self, _: web.Request) -> web.Response:
        return web.Response(status=204, headers=_CORS)

    async def _on_call(self, request: web.Request) -> web.Response:
        try:
            content = await request.json()
            token, sdp = content["token"], content["sdp"]
        except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
            token = sdp = None
        if not (isinstance(token, str) and isinstance(sdp, str) and 0 < len(token) <= TOKEN_MAX):
            self._doorway.refused["request"] += 1
            return _refused(400)
        if self._waiting >= WAITING_MAX:
            self._doorway.refused["waiting"] += 1
            return _refused(503)
        self._waiting += 1
        try:
            return await self._offer(token, sdp, request.headers.get("Origin", ""))
        finally:
            self._waiting -= 1

    async def _offer(self, token: str, sdp: str, origin: str) -> web.Response:
        line = WebLine(SmallWebRTCConnection([IceServer(urls=url) for url in self._settings.ice_servers]))
        self._doorway.adopt(line)
        arrival = BaseArrival(line, from_=origin, token=token)
        self._doorway.arrive(arrival)
        status = await arrival.decided(DECIDE_S, otherwise=503)
        if status != OK:
            return _refused(status if status in range(400, 600) else 403)
        # From here on, since a browser may also leave before it has the answer.
        line.answer_within(CONNECT_S, "engine", Outcome.UNREACHABLE, "no media path")
        try:
            answer = await line.accept(sdp)
        except LegError:
            return _refused(400)
        return web.json_response({"sdp": answer}, headers=_CORS)


def _refused(status: int) -> web.Response:
    return web.json_response({"message": "The call was refused."}, status=status, headers=_CORS)
