"""The leg of Twilio: a small web server that Twilio asks, tells and streams to."""

import hmac
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web
from typing_extensions import override

from ..base import OK, BaseArrival
from ..leg import RING_TIMEOUT_S, Line, OnTrunk, Outcome, Telephony, TrunkState, TrunkStatus, account_of
from ..settings import TwilioSettings
from ..stream import JsonWire, StreamLeg, new_token
from .api import Rest, Urls, WrongCredentialsError, rejection, signature, stream
from .line import TwilioLine

DECIDE_S = 12.0  # Twilio waits 15 s for an answer to its question
STREAM_S = 10.0  # from the answer to the websocket
STATUSES = ("initiated", "ringing", "answered", "completed")


class TwilioLeg(StreamLeg[TwilioLine]):
    """A `Leg` of Twilio's numbers."""

    kind = "twilio"

    def __init__(self, settings: TwilioSettings, on_trunk: OnTrunk) -> None:
        """Prepare; `on_trunk` is called with each change of a trunk's state."""
        super().__init__("Twilio", settings.host, settings.port)
        self._on_trunk = on_trunk
        self._urls = Urls(settings.public_url.rstrip("/"))
        self._lines: dict[str, TwilioLine] = {}
        self._secrets: dict[str, str] = {}

    @override
    def _routes(self) -> Iterable[web.RouteDef]:
        return (web.post("/twilio/voice", self._on_voice), web.post("/twilio/status", self._on_status))

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Ask Twilio for a call that is connected to our websocket when it is answered."""
        rest, token = Rest(self._http(), telephony), new_token()
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
        line = self._take_over(TwilioLine(sid, rest), token, telephony)
        line.answer_within(ring_timeout_s + STREAM_S, "engine", Outcome.FAILED, "no stream came")
        return line

    def _take_over(self, line: TwilioLine, token: str, telephony: Telephony) -> TwilioLine:
        sid = line.external_id
        self._adopt(line, token, {"sid": sid, "telephony": account_of(telephony)})
        self._lines[sid], self._secrets[sid] = line, telephony.password

        def forget(_: object) -> None:
            self._lines.pop(sid, None)
            self._secrets.pop(sid, None)

        line.on_ended.append(forget)
        return line

    async def _form(self, request: web.Request, token: str | None, url: str) -> dict[str, str]:
        """Return the form of a request that Twilio has signed; everybody else gets 403 without detail."""
        form = {name: str(value) for name, value in (await request.post()).items()}
        given = request.headers.get("X-Twilio-Signature", "")
        if token is None or not hmac.compare_digest(given.encode(), signature(token, url, form).encode()):
            self._doorway.refused["signature"] += 1
            raise web.HTTPForbidden
        return form

    async def _on_voice(self, request: web.Request) -> web.Response:
        called = str((await request.post()).get("To", ""))
        trunk = next((trunk for trunk in self._trunks if trunk.from_ == called), None)
        form = await self._form(request, trunk.password if trunk else None, self._urls.voice)
        if trunk is None or not form.get("CallSid") or form["CallSid"] in self._lines:
            raise web.HTTPForbidden
        token = new_token()
        line = self._take_over(TwilioLine(form["CallSid"], Rest(self._http(), trunk)), token, trunk)
        arrival = BaseArrival(line, from_=form.get("From", ""), to=called, trunk_id=trunk.trunk_id)
        self._doorway.arrive(arrival)
        status = await arrival.decided(DECIDE_S)
        if status == OK:
            line.answer_within(STREAM_S, "engine", Outcome.FAILED, "no stream came")
            return web.Response(text=stream(self._urls, token), content_type="text/xml")
        return web.Response(text=rejection(status), content_type="text/xml")

    async def _on_status(self, request: web.Request) -> web.Response:
        sid = str((await request.post()).get("CallSid", ""))
        form = await self._form(request, self._secrets.get(sid), self._urls.status)
        line = self._lines.get(sid)
        if line is not None:
            line.told(form.get("CallStatus", ""))
        return web.Response(status=204)

    @override
    def _begin(self, request: web.Request, content: Mapping[str, Any]) -> tuple[TwilioLine, JsonWire] | None:
        start = content["start"]
        line = self._redeem(start["customParameters"]["token"], lambda line: line.external_id == start["callSid"])
        return (line, JsonWire({"streamSid": str(start["streamSid"])})) if line is not None else None
