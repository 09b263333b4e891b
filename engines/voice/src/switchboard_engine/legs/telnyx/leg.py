"""The leg of Telnyx: commands to it, webhooks from it, and its media's websocket.

Webhooks come twice, late and in any order: each only ever moves a call on.
"""

import json
import logging
import time
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from aiohttp import web
from typing_extensions import override

from ..base import OK, BaseArrival
from ..leg import RING_TIMEOUT_S, LegError, Line, OnTrunk, Outcome, Telephony, TrunkState, TrunkStatus, account_of
from ..settings import TelnyxSettings
from ..stream import JsonWire, StreamLeg, new_token
from .api import CallOverError, Commands, PublicKeys, Urls, WrongCredentialsError, stream
from .line import TelnyxLine

_log = logging.getLogger(__name__)

DECIDE_S = 30.0
STREAM_S = 10.0  # from the answer to the websocket
OVER_MAX = 1024  # calls that are over and whose webhooks may still come
_BUSY = (486, 600)


class TelnyxLeg(StreamLeg[TelnyxLine]):
    """A `Leg` of Telnyx's numbers."""

    kind = "telnyx"

    def __init__(self, settings: TelnyxSettings, on_trunk: OnTrunk) -> None:
        """Prepare; `on_trunk` is called with each change of a trunk's state.

        Raises:
            ValueError: a public key is none.
        """
        super().__init__("Telnyx", settings.host, settings.port)
        self._on_trunk = on_trunk
        self._urls = Urls(settings.public_url.rstrip("/"))
        self._keys = PublicKeys(settings.public_keys)
        self._lines: dict[str, TelnyxLine] = {}
        self._ringing: dict[str, BaseArrival[TelnyxLine]] = {}
        self._over: OrderedDict[str, None] = OrderedDict()

    @override
    def _routes(self) -> Iterable[web.RouteDef]:
        return (web.post("/telnyx/webhook", self._on_webhook),)

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Ask Telnyx for a call that is streamed to us when it is answered."""
        commands, token = Commands(self._http(), telephony), new_token()
        members = {
            "to": to,
            "from": telephony.from_,
            "timeout_secs": min(max(5, round(ring_timeout_s)), 600),
            "webhook_url": self._urls.webhook,
            "command_id": new_token(),
            **stream(self._urls, token),
        }
        try:
            leg_id, control_id = await commands.dial(members)
        except WrongCredentialsError as error:
            self._on_trunk(TrunkStatus(telephony.trunk_id, TrunkState.WRONG_CREDENTIALS, str(error)))
            raise
        line = self._take_over(TelnyxLine(leg_id, control_id, commands), token, telephony)
        line.answer_within(ring_timeout_s + STREAM_S, "engine", Outcome.FAILED, "no stream came")
        return line

    def _take_over(self, line: TelnyxLine, token: str, telephony: Telephony) -> TelnyxLine:
        self._adopt(line, token, {"control_id": line.control_id, "telephony": account_of(telephony)})
        self._lines[line.external_id] = line

        def forget(_: object) -> None:
            self._lines.pop(line.external_id, None)
            self._ringing.pop(line.external_id, None)
            self._over[line.external_id] = None
            if len(self._over) > OVER_MAX:
                self._over.popitem(last=False)

        line.on_ended.append(forget)
        return line

    async def _on_webhook(self, request: web.Request) -> web.Response:
        body = await request.read()
        signature = request.headers.get("Telnyx-Signature-Ed25519", "")
        if not self._keys.prove(body, signature, request.headers.get("Telnyx-Timestamp", ""), time.time()):
            self._doorway.refused["signature"] += 1
            raise web.HTTPForbidden
        try:
            data = json.loads(body)["data"]
            event, payload = str(data["event_type"]), data["payload"]
            leg_id = str(payload["call_leg_id"])
        except (ValueError, KeyError, TypeError) as error:
            raise web.HTTPBadRequest from error
        state = payload.get("client_state")
        for line in self._lines.values():
            if line.transfer_state and line.transfer_state == state:
                line.transfer_told(event, payload)
                return web.Response()
        if event == "call.initiated" and payload.get("direction") == "incoming":
            self._arrive(leg_id, payload)
        elif event == "call.hangup" and leg_id in self._lines:
            self._hung_up(leg_id, payload)
        return web.Response()

    def _hung_up(self, leg_id: str, payload: Mapping[str, Any]) -> None:
        arrival = self._ringing.get(leg_id)
        self._lines[leg_id].hung_up(payload, incoming=arrival is not None)

    def _arrive(self, leg_id: str, payload: Mapping[str, Any]) -> None:
        """Take a call to us, once."""
        called, control_id = str(payload.get("to", "")), str(payload.get("call_control_id", ""))
        trunk = next((trunk for trunk in self._trunks if trunk.from_ == called), None)
        if trunk is None or not control_id or leg_id in self._lines or leg_id in self._over:
            return
        token = new_token()
        line = self._take_over(TelnyxLine(leg_id, control_id, Commands(self._http(), trunk)), token, trunk)
        arrival = BaseArrival(line, from_=str(payload.get("from", "")), to=called, trunk_id=trunk.trunk_id)
        self._ringing[leg_id] = arrival
        self._doorway.arrive(arrival)
        line.spawn(self._carry_out(arrival, token))

    async def _carry_out(self, arrival: BaseArrival[TelnyxLine], token: str) -> None:
        """Tell Telnyx what was decided on a call to us."""
        line = arrival.line
        status = await arrival.decided(DECIDE_S)
        try:
            if status == OK:
                line.answer_within(STREAM_S, "engine", Outcome.FAILED, "no stream came")
                await line.commands.act(
                    line.control_id,
                    "answer",
                    webhook_url=self._urls.webhook,
                    command_id=new_token(),
                    **stream(self._urls, token),
                )
            else:
                cause = "USER_BUSY" if status in _BUSY else "CALL_REJECTED"
                await line.commands.act(line.control_id, "reject", cause=cause)
        except CallOverError:
            line.end("customer", Outcome.CANCELLED, "the caller hung up")
        except LegError as error:
            _log.warning("a call to us was not answered or refused: %s", error)
            line.end("engine", Outcome.FAILED, str(error))

    @override
    def _begin(self, request: web.Request, content: Mapping[str, Any]) -> tuple[TelnyxLine, JsonWire] | None:
        control_id = content["start"]["call_control_id"]
        line = self._redeem(request.query.get("token", ""), lambda line: line.control_id == control_id)
        return (line, JsonWire()) if line is not None else None
