"""The leg of an Asterisk in front: it speaks to trunks, we speak to it.

`Stasis(APP,TRUNK)` in its dialplan brings calls to us. It has to be 20.16, 22.6 or 23.0 at least, for its websocket
channel.
"""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from ...client.ending import end
from ...dialogs import dialogs
from ..base import OK, BaseArrival
from ..leg import RING_TIMEOUT_S, Arrival, Leg, LegError, Line, OnTrunk, Outcome, Telephony
from ..settings import AsteriskSettings
from .ari import Ari, Event
from .line import OUR_CHANNELS, AsteriskLine

_log = logging.getLogger(__name__)

START_S = 10.0
DECIDE_S = 30.0
RETURN_S = 15.0  # how long calls go on without events before they are given up
RING_GRACE_S = 5.0
# Causes (ITU-T Q.850) for statuses; Asterisk makes them statuses again.
_CAUSES = {404: 1, 480: 19, 486: 17, 503: 34, 600: 17}
_REJECTED = 21


class AsteriskLeg(Leg):
    """A `Leg` of everything that an Asterisk reaches."""

    def __init__(self, settings: AsteriskSettings, on_trunk: OnTrunk) -> None:
        """Prepare; trunks are Asterisk's own, so that `on_trunk` is never called."""
        del on_trunk
        self._settings = settings
        self._ari = Ari(settings, self._on_event)
        self._lines: dict[str, AsteriskLine] = {}
        self._by_media: dict[str, AsteriskLine] = {}
        self._arrivals: asyncio.Queue[Arrival | None] = asyncio.Queue()
        self._settling: set[asyncio.Future[None]] = set()
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def refused(self) -> Mapping[str, int]:
        """Nothing: Asterisk decides whom it lets in."""
        return {}

    async def start(self) -> None:
        """Attach to Asterisk.

        Raises:
            LegError: it cannot be reached, or refuses us.
        """
        await self._ari.open()
        try:
            await self._ari.get("asterisk/info", only="system")
            self._tasks = [asyncio.create_task(self._ari.events()), asyncio.create_task(self._watch())]
            async with asyncio.timeout(START_S):
                await self._ari.connected.wait()
        except (LegError, TimeoutError) as error:
            await self._detach()
            raise LegError(f"Asterisk at {self._settings.url}: {str(error) or 'it sends no events'}") from error

    async def stop(self) -> None:
        """Hang up all lines, and detach."""
        for line in tuple(self._lines.values()):
            try:
                await line.hangup()
            except LegError as error:
                line.end("engine", Outcome.FAILED, str(error))
        await asyncio.gather(*self._settling)
        await self._detach()
        self._arrivals.put_nowait(None)

    async def _detach(self) -> None:
        await end(self._tasks)
        await self._ari.close()

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        """Do nothing: whom Asterisk lets in is in its own configuration."""

    def incoming(self) -> AsyncIterator[Arrival]:
        """Calls that the dialplan hands to us."""
        return self._incoming()

    async def _incoming(self) -> AsyncIterator[Arrival]:
        while (arrival := await self._arrivals.get()) is not None:
            yield arrival

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = RING_TIMEOUT_S) -> Line:
        """Make a channel, connect it with us, and dial."""
        if not to.removeprefix("+").isalnum():
            raise LegError(f"{to!r} cannot be dialed")
        endpoint = self._settings.endpoint.format(
            number=to, trunk=telephony.trunk_id, address=telephony.address, caller=telephony.from_
        )
        line = self._adopt(f"{OUR_CHANNELS}{secrets.token_hex(12)}", incoming=False)
        try:
            await self._place(line, endpoint, telephony.from_, ring_timeout_s)
        except LegError as error:
            line.end("engine", Outcome.FAILED, str(error))
            raise
        line.answer_within(ring_timeout_s + RING_GRACE_S, "customer", Outcome.NO_ANSWER, "it rang in vain")
        return line

    async def _place(self, line: AsteriskLine, endpoint: str, caller: str, ring_timeout_s: float) -> None:
        """Make the channel first and dial later: only so its ringing is told."""
        line.named(
            await self._ari.post(
                "channels/create", endpoint=endpoint, app=self._settings.app, channelId=line.channel_id
            )
        )
        await line.entered()
        if caller:
            # Whom the callee is connected with: an outgoing call shows that, not its channel's caller.
            variable = f"channels/{line.channel_id}/variable"
            await self._ari.post(variable, variable="CONNECTEDLINE(num)", value=caller)
        await line.carry()
        await self._ari.post(f"channels/{line.channel_id}/dial", timeout=str(max(5, round(ring_timeout_s))))

    def _adopt(self, channel_id: str, *, incoming: bool) -> AsteriskLine:
        line = AsteriskLine(channel_id, self._ari, incoming=incoming, transfer_context=self._settings.transfer_context)
        self._lines[channel_id] = self._by_media[line.media_id] = line
        line.on_ended.append(lambda _: self._forget(line))
        at = self._settings
        account = {"url": at.url, "username": at.username, "password": at.password}
        dialogs.up("asterisk", channel_id, {**account, "paths": line.paths})
        return line

    def _forget(self, line: AsteriskLine) -> None:
        self._lines.pop(line.channel_id, None)
        self._by_media.pop(line.media_id, None)
        dialogs.down("asterisk", line.channel_id)
        settling = asyncio.ensure_future(line.settled())
        self._settling.add(settling)
        settling.add_done_callback(self._settling.discard)

    def _on_event(self, event: Event) -> None:
        channel = event.get("channel") or event.get("peer") or {}
        channel_id = str(channel.get("id", ""))
        if (line := self._lines.get(channel_id)) is not None:
            line.told(event)
        elif (line := self._by_media.get(channel_id)) is not None:
            line.media_told(event)
        elif event["type"] == "StasisStart" and not channel_id.startswith(OUR_CHANNELS):
            self._arrive(channel, event.get("args") or [])

    def _arrive(self, channel: Mapping[str, Any], args: list[Any]) -> None:
        """Take a call that the dialplan hands to us."""
        line = self._adopt(str(channel["id"]), incoming=True)
        line.named(channel)
        arrival = BaseArrival(
            line,
            from_=str((channel.get("caller") or {}).get("number", "")),
            to=str((channel.get("dialplan") or {}).get("exten", "")),
            trunk_id=str(args[0]) if args else "",
        )
        self._arrivals.put_nowait(arrival)
        line.spawn(self._carry_out(arrival))

    async def _carry_out(self, arrival: BaseArrival[AsteriskLine]) -> None:
        """Let the caller hear ringing, and tell Asterisk what was decided."""
        line = arrival.line
        channel = f"channels/{line.channel_id}"
        try:
            await self._ari.post(f"{channel}/ring")
            status = await arrival.decided(DECIDE_S)
            if status == OK:
                await line.carry()
                await self._ari.post(f"{channel}/answer")
            else:
                await self._ari.delete(channel, reason_code=str(_CAUSES.get(status, _REJECTED)))
        except LegError as error:
            _log.warning("a call to us was not answered or refused: %s", error)
            line.end("engine", Outcome.FAILED, str(error))

    async def _watch(self) -> None:
        """When events come again, see which calls have gone meanwhile; when none come for long, give all up."""
        while True:
            await self._ari.disconnected.wait()
            try:
                async with asyncio.timeout(RETURN_S):
                    await self._ari.connected.wait()
            except TimeoutError:
                for line in tuple(self._lines.values()):
                    line.end("engine", Outcome.FAILED, "Asterisk cannot be reached")
                await self._ari.connected.wait()
            for line in tuple(self._lines.values()):
                try:
                    await line.check()
                except LegError as error:
                    _log.warning("Asterisk does not say whether a call goes on: %s", error)
