"""The leg of Twilio: a small web server that Twilio asks, tells and streams to."""

import asyncio
import hmac
import json
import logging
import secrets
from collections.abc import AsyncIterator, Iterable
from typing import Any

import aiohttp
from aiohttp import web

from ..leg import (
    RING_TIMEOUT_S,
    Arrival,
    LegError,
    Line,
    OnTrunk,
    Outcome,
    Telephony,
    TrunkState,
    TrunkStatus,
)
from ..settings import TwilioSettings
from .api import Rest, Urls, WrongCredentialsError, rejection, signature, stream
from .line import TwilioLine

logger = logging.getLogger(__name__)

DECIDE_S = 12.0  # Twilio waits 15 s for an answer to its question
MESSAGE_MAX_BYTES = 64 * 1024
SHUTDOWN_S = 2.0
STREAM_S = 10.0  # from the answer to the websocket
STATUSES = ("initiated", "ringing", "answered", "completed")


class TwilioArrival:
    """A call to us, while Twilio waits for an answer to its question."""

    def __init__(self, line: TwilioLine, trunk_id: str, form: dict[str, str]) -> None:
        """Take Twilio's question."""
        self.decision: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._line, self._trunk_id, self._form = line, trunk_id, form

    @property
    def line(self) -> Line:
        """Its line."""
        return self._line

    @property
    def from_(self) -> str:
        """The caller."""
        return self._form.get("From", "")

    @property
    def to(self) -> str:
        """The called number."""
        return self._form.get("To", "")

    @property
    def external_id(self) -> str:
        """The call's SID."""
        return self._line.external_id

    @property
    def trunk_id(self) -> str:
        """The trunk of the called number."""
        return self._trunk_id

    @property
    def token(self) -> str:
        """Empty: a telephone shows none."""
        return ""

    async def ring(self) -> None:
        """Do nothing: Twilio rings until its question is answered."""

    async def answer(self) -> Line:
        """Let Twilio connect the call to our websocket."""
        if self.decision.done():
            raise LegError("the caller has gone")
        self.decision.set_result(200)
        return self._line

    async def reject(self, status: int = 486) -> None:
        """Refuse: Twilio says busy, or rejects."""
        if not self.decision.done():
            self.decision.set_result(status)


class TwilioLeg:
    """A `Leg` of Twilio's numbers."""

    def __init__(self, settings: TwilioSettings, on_trunk: OnTrunk) -> None:
        """Prepare; `on_trunk` is called with each change of a trunk's state."""
        self._settings, self._on_trunk = settings, on_trunk
        self._urls = Urls(settings.public_url.rstrip("/"))
        self._trunks: tuple[Telephony, ...] = ()
        self._lines: dict[str, TwilioLine] = {}
        self._tokens: dict[str, TwilioLine] = {}
        self._secrets: dict[str, str] = {}
        self._arrivals: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None

    async def start(self) -> None:
        """Open the web server's port."""
        app = web.Application()
        app.add_routes(
            [
                web.post("/twilio/voice", self._on_voice),
                web.post("/twilio/status", self._on_status),
                web.get("/twilio/media", self._on_media),
            ]
        )
        self._session = aiohttp.ClientSession()
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=SHUTDOWN_S)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, self._settings.host, self._settings.port).start()
        except OSError as error:
            raise LegError(f"the port for Twilio is not to be had: {error}") from error

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        """Let in the calls to exactly these numbers."""
        self._trunks = tuple(trunk for trunk in trunks if trunk.kind == "twilio")

    def _rest(self, telephony: Telephony) -> Rest:
        if self._session is None:
            raise LegError("the leg is not started")
        return Rest(self._session, telephony)

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Ask Twilio for a call that is connected to our websocket when it is answered."""
        rest, token = self._rest(telephony), secrets.token_urlsafe(24)
        form = {
            "To": to,
            "From": telephony.from_,
            "Twiml": stream(self._urls, token),
            "StatusCallback": self._urls.status,
            "StatusCallbackEvent": " ".join(STATUSES),
            "Timeout": str(max(5, round(ring_timeout_s))),
        }
        try:
            sid = await rest.create(form)
        except WrongCredentialsError as error:
            self._on_trunk(TrunkStatus(telephony.trunk_id, TrunkState.WRONG_CREDENTIALS, str(error)))
            raise
        line = self._adopt(TwilioLine(sid, rest), token, telephony)
        line.expect_stream(ring_timeout_s + STREAM_S)
        return line

    def _adopt(self, line: TwilioLine, token: str, telephony: Telephony) -> TwilioLine:
        sid = line.external_id
        self._lines[sid], self._tokens[token], self._secrets[sid] = line, line, telephony.password

        def forget(_: object) -> None:
            self._lines.pop(sid, None)
            self._tokens.pop(token, None)
            self._secrets.pop(sid, None)

        line.on_ended.append(forget)
        return line

    def incoming(self) -> AsyncIterator[Arrival]:
        """Calls to our numbers."""
        return self._incoming()

    async def _incoming(self) -> AsyncIterator[Arrival]:
        while (arrival := await self._arrivals.get()) is not None:
            yield arrival

    async def stop(self) -> None:
        """Hang up all lines and close the port."""
        for line in list(self._lines.values()):
            try:
                await line.hangup()
            except LegError as error:
                logger.warning("a call of Twilio's could not be ended: %s", error)
                line.end("engine", Outcome.FAILED, str(error))
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()
        self._arrivals.put_nowait(None)

    async def _form(self, request: web.Request, token: str | None, url: str) -> dict[str, str]:
        """Return the form of a request that Twilio has signed; everybody else gets 403 without detail."""
        form = {name: str(value) for name, value in (await request.post()).items()}
        given = request.headers.get("X-Twilio-Signature", "")
        if token is None or not hmac.compare_digest(given.encode(), signature(token, url, form).encode()):
            raise web.HTTPForbidden
        return form

    async def _on_voice(self, request: web.Request) -> web.Response:
        called = str((await request.post()).get("To", ""))
        trunk = next((trunk for trunk in self._trunks if trunk.from_ == called), None)
        form = await self._form(request, trunk.password if trunk else None, self._urls.voice)
        if trunk is None:
            raise web.HTTPForbidden
        token = secrets.token_urlsafe(24)
        line = self._adopt(TwilioLine(form["CallSid"], self._rest(trunk)), token, trunk)
        arrival = TwilioArrival(line, trunk.trunk_id, form)
        self._arrivals.put_nowait(arrival)
        try:
            status = await asyncio.wait_for(asyncio.shield(arrival.decision), DECIDE_S)
        except TimeoutError:
            arrival.decision.cancel()
            status = 480
        except asyncio.CancelledError:
            line.end("customer", Outcome.CANCELLED, "the caller hung up")
            arrival.decision.cancel()
            raise
        if status == web.HTTPOk.status_code:
            line.expect_stream(STREAM_S)
            return web.Response(text=stream(self._urls, token), content_type="text/xml")
        line.end("assistant", Outcome.REJECTED, str(status))
        return web.Response(text=rejection(status), content_type="text/xml")

    async def _on_status(self, request: web.Request) -> web.Response:
        sid = str((await request.post()).get("CallSid", ""))
        form = await self._form(request, self._secrets.get(sid), self._urls.status)
        line = self._lines.get(sid)
        if line is not None:
            line.told(form.get("CallStatus", ""))
        return web.Response(status=204)

    async def _on_media(self, request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=MESSAGE_MAX_BYTES)
        await socket.prepare(request)
        line: TwilioLine | None = None
        async for message in socket:
            if message.type is not aiohttp.WSMsgType.TEXT:
                break
            try:
                content = json.loads(message.data)
                if content["event"] == "start":
                    line = self._begin(socket, content)
                    if line is None:
                        break
                elif line is not None and not self._take(line, content):
                    break
            except (ValueError, KeyError, TypeError) as error:
                logger.warning("a media message could not be read: %s", error)
        if line is not None:
            line.end("customer", Outcome.COMPLETED, "the stream ended")
        await socket.close()
        return socket

    def _begin(self, socket: web.WebSocketResponse, content: dict[str, Any]) -> TwilioLine | None:
        """Return the line of a stream; a token is used once, by its own call."""
        start = content["start"]
        line = self._tokens.pop(start["customParameters"]["token"], None)
        if line is None or line.external_id != start["callSid"]:
            return None
        line.audio.open(socket, str(start["streamSid"]))
        line.answered()
        return line

    @staticmethod
    def _take(line: TwilioLine, content: dict[str, Any]) -> bool:
        """Take a message; returns whether the stream goes on."""
        match content["event"]:
            case "media":
                line.audio.take(content["media"]["payload"])
            case "mark":
                line.audio.marked(content["mark"]["name"])
            case "dtmf":
                line.pressed(content["dtmf"]["digit"])
            case "stop":
                return False
        return True
