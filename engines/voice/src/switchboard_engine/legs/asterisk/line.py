"""One call of Asterisk's: the customer's channel, a channel of media, and the bridge between them."""

import asyncio
import contextlib
import json
import logging
from collections.abc import Mapping
from typing import Any

import aiohttp
from typing_extensions import override

from .. import tones
from ..leg import Ended, Hold, LegError, Line, Outcome, Party, Resume, TransferMode, Transferred
from ..stream import START_S, StreamLine
from .ari import Ari, GoneError

_log = logging.getLogger(__name__)

EVENT_S = 1.0  # from the end of the media to the event that says why
EXTERNAL_ID_MAX = 128
OUR_CHANNELS = "switchboard-"
"""What the ids of channels begin with that we made."""

# Why a call was never answered, by its cause (ITU-T Q.850).
_CAUSES = {
    1: Outcome.UNREACHABLE,
    3: Outcome.UNREACHABLE,
    17: Outcome.BUSY,
    18: Outcome.NO_ANSWER,
    19: Outcome.NO_ANSWER,
    20: Outcome.UNREACHABLE,
    21: Outcome.REJECTED,
    22: Outcome.UNREACHABLE,
    28: Outcome.UNREACHABLE,
}


class MediaWire:
    """The messages of Asterisk's websocket channel, in JSON."""

    def audio(self, payload: bytes) -> bytes:
        """Return the payload itself."""
        return payload

    def clear(self) -> str:
        """Return the command that drops what was not played yet."""
        return json.dumps({"command": "FLUSH_MEDIA"})

    def mark(self, name: str) -> str:
        """Return the command that is answered when everything before it was played."""
        return json.dumps({"command": "MARK_MEDIA", "correlation_id": name})


async def _wait(entered: asyncio.Event) -> None:
    try:
        async with asyncio.timeout(START_S):
            await entered.wait()
    except TimeoutError as error:
        raise LegError("a channel did not enter the application") from error


class AsteriskLine(StreamLine):
    """A `Line` of Asterisk's; its external id is the SIP Call-ID, where the customer's channel has one."""

    def __init__(self, channel_id: str, ari: Ari, *, incoming: bool, transfer_context: str) -> None:
        """Take a channel over."""
        super().__init__(channel_id)
        self.channel_id = channel_id
        name = channel_id.removeprefix(OUR_CHANNELS)
        self.media_id, self._bridge_id = f"{OUR_CHANNELS}media-{name}", f"{OUR_CHANNELS}{name}"
        self._ari = ari
        self._incoming = incoming
        self._transfer_context = transfer_context
        self._entered, self._media_entered, self._up = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._left = False

    def named(self, channel: Mapping[str, Any]) -> None:
        """Take the network's id from the customer's channel."""
        protocol_id = channel.get("protocol_id")
        if isinstance(protocol_id, str) and 0 < len(protocol_id) <= EXTERNAL_ID_MAX:
            self._external_id = protocol_id

    async def carry(self) -> None:
        """Connect the customer's channel with us; audio flows when it is answered.

        Raises:
            LegError: Asterisk would not.
        """
        media = await self._ari.post(
            "channels/externalMedia", app=self._ari.app, channelId=self.media_id, external_host="INCOMING",
            encapsulation="none", transport="websocket", connection_type="server", format="ulaw",
            transport_data="f(json)",
        )  # fmt: skip
        socket = await self._ari.media(str(media["channelvars"]["MEDIA_WEBSOCKET_CONNECTION_ID"]))
        try:
            async with asyncio.timeout(START_S):
                while json.loads((await socket.receive()).data).get("event") != "MEDIA_START":
                    continue
        except (TimeoutError, ValueError, TypeError, AttributeError) as error:
            await socket.close()
            raise LegError("Asterisk's media did not start") from error
        self.spawn(self._read(socket))
        await _wait(self._media_entered)
        await self._ari.post(f"bridges/{self._bridge_id}", type="mixing")
        channels = f"{self.channel_id},{self.media_id}"
        # Who is called must go on to see who calls, not the media's channel.
        await self._ari.post(
            f"bridges/{self._bridge_id}/addChannel", channel=channels, inhibitConnectedLineUpdates="true"
        )
        self.spawn(self._open(socket))

    async def entered(self) -> None:
        """Wait until the customer's channel is ours: before, Asterisk refuses commands.

        Raises:
            LegError: it never came.
        """
        await _wait(self._entered)

    async def _open(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        await self._up.wait()
        self.audio.open(socket, MediaWire())
        self.answered()

    async def _read(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        """Take what the customer says until Asterisk ends it, which ends the line."""
        async for message in socket:
            try:
                if message.type is aiohttp.WSMsgType.BINARY:
                    self.audio.take(message.data)
                elif message.type is aiohttp.WSMsgType.TEXT:
                    content = json.loads(message.data)
                    if content.get("event") == "MEDIA_MARK_PROCESSED":
                        self.audio.marked(str(content["correlation_id"]))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                _log.warning("a media message of Asterisk's could not be read: %s", error)
        # Its event says who hung up, and comes about now; without one Asterisk itself went.
        if self._ended is None:
            await asyncio.sleep(EVENT_S)
        self.end("engine", Outcome.FAILED, "Asterisk ended the media")

    def told(self, event: Mapping[str, Any]) -> None:
        """Take an event of the customer's channel."""
        channel = event.get("channel") or {}
        match event["type"]:
            case "StasisStart":
                self._entered.set()
            case "Dial":
                if event["dialstatus"] in ("RINGING", "PROGRESS"):
                    self.ringing(early_media=event["dialstatus"] == "PROGRESS")
            case "ChannelStateChange" if channel["state"] == "Ringing" and not self._incoming:
                self.ringing()
            case "ChannelStateChange" if channel["state"] == "Up":
                self._up.set()
            case "ChannelDtmfReceived":
                self.pressed(str(event["digit"]), int(event["duration_ms"]))
            case "ChannelHold":
                self._queue.put_nowait(Hold())
            case "ChannelUnhold":
                self._queue.put_nowait(Resume())
            case "ChannelDestroyed":
                self._destroyed(int(event["cause"]), str(event.get("cause_txt", "")))
            case "StasisEnd" if self._incoming or self.is_up:
                self._destroyed(16, "it left the application")

    def media_told(self, event: Mapping[str, Any]) -> None:
        """Take an event of the media's channel."""
        if event["type"] == "StasisStart":
            self._media_entered.set()

    def _destroyed(self, cause: int, text: str) -> None:
        self._left = True
        if self._answered:
            self.end("customer", Outcome.COMPLETED, text)
        elif self._incoming:
            self.end("customer", Outcome.CANCELLED, text)
        else:
            by: Party = "customer" if cause in _CAUSES else "engine"
            self.end(by, _CAUSES.get(cause, Outcome.UNREACHABLE), f"{cause} {text}")

    async def check(self) -> None:
        """End the line if its channel has gone, while no events came."""
        try:
            channel = await self._ari.get(f"channels/{self.channel_id}")
        except GoneError:
            self._destroyed(16, "it had gone when Asterisk was back")
        else:
            self.told({"type": "ChannelStateChange", "channel": channel})

    @override
    async def send_dtmf(self, digits: str) -> None:
        """Have Asterisk press keys, each for 100 ms."""
        self._require_up()
        tones.keys(digits, 100)  # raises for what is no key
        await self._ari.post(
            f"channels/{self.channel_id}/dtmf", dtmf=digits.upper(), duration=str(tones.KEY_MS),
            between=str(tones.PAUSE_MS),
        )  # fmt: skip
        await asyncio.sleep(len(digits) * (tones.KEY_MS + tones.PAUSE_MS) / 1000)

    @override
    async def hold(self) -> None:
        """Have Asterisk hold the customer, who hears its music."""
        self._require_up()
        await self._ari.post(f"channels/{self.channel_id}/hold")

    @override
    async def resume(self) -> None:
        """Take the customer back."""
        self._require_up()
        await self._ari.delete(f"channels/{self.channel_id}/hold")

    @override
    async def transfer(self, to: str, mode: TransferMode = "blind", *, consultation: Line | None = None) -> Transferred:
        """Hand the customer to the dialplan's context for transfers, which dials `to`."""
        return await self._transfer_blind(to, mode, consultation, lambda: self._continue(to))

    async def _continue(self, to: str) -> None:
        self._ending = Outcome.TRANSFERRED
        try:
            await self._ari.post(
                f"channels/{self.channel_id}/continue", context=self._transfer_context, extension=to, priority="1"
            )
        except LegError:
            self._ending = None
            raise
        self._left = True

    @override
    async def _hang_up(self) -> None:
        if not self._left:
            await self._ari.delete(f"channels/{self.channel_id}")
            self._left = True

    @override
    def _close(self, ended: Ended) -> None:
        super()._close(ended)
        self._up.set()
        self.spawn(self._clear())

    @property
    def paths(self) -> list[str]:
        """What is its own in Asterisk, and not gone."""
        ours = [f"channels/{self.media_id}", f"bridges/{self._bridge_id}"]
        return ours if self._left else [f"channels/{self.channel_id}", *ours]

    async def _clear(self) -> None:
        """Free what is left of it in Asterisk."""
        for path in self.paths:
            with contextlib.suppress(LegError):
                await self._ari.delete(path)
