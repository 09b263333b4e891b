"""Asterisk's REST interface: requests, and the websocket of its events, which is opened again when it breaks.

Names are those of Asterisk's documentation, "Asterisk REST Interface (ARI)" and "WebSocket" (channel driver).
"""

import asyncio
import base64
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any

import aiohttp

from ...client.backoff import Backoff
from ..leg import LegError
from ..settings import AsteriskSettings

_log = logging.getLogger(__name__)

TIMEOUT = aiohttp.ClientTimeout(total=10)
HEARTBEAT_S = 5.0  # a connection whose far side is gone without a word is noticed within twice of it
MESSAGE_MAX_BYTES = 1 << 20
_RETRY_S, _RETRY_MAX_S = 0.2, 5.0
_NOT_FOUND, _UNAUTHORIZED, _ERROR = 404, 401, 400

Event = Mapping[str, Any]


class GoneError(LegError):
    """What was asked about is not there any more."""


class Ari:
    """One Asterisk, for one application."""

    def __init__(self, settings: AsteriskSettings, on_event: Callable[[Event], None]) -> None:
        """Prepare; `on_event` gets each event, on the loop."""
        self.app = settings.app
        self.connected = asyncio.Event()
        self.disconnected = asyncio.Event()
        self.disconnected.set()
        self._on_event = on_event
        self._url = settings.url.rstrip("/")
        self._session: aiohttp.ClientSession | None = None
        credentials = base64.b64encode(f"{settings.username}:{settings.password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credentials}"}

    async def open(self) -> None:
        """Take up connections."""
        self._session = aiohttp.ClientSession(headers=self._headers)

    async def close(self) -> None:
        """Close them."""
        if self._session is not None:
            await self._session.close()

    def _http(self) -> aiohttp.ClientSession:
        if self._session is None:
            raise LegError("the leg is not started")
        return self._session

    async def events(self) -> None:
        """Hand on events until cancelled; a connection that is lost is made again."""
        backoff = Backoff(_RETRY_S, _RETRY_MAX_S)
        while True:
            try:
                await self._listen(backoff)
                _log.warning("Asterisk closed the connection for events")
            except (aiohttp.ClientError, TimeoutError, OSError) as error:
                _log.warning("no events from Asterisk: %s", error)
            self.connected.clear()
            self.disconnected.set()
            await asyncio.sleep(backoff.pause())

    async def _listen(self, backoff: Backoff) -> None:
        url, query = f"{self._url}/ari/events", {"app": self.app}
        async with self._http().ws_connect(
            url, params=query, heartbeat=HEARTBEAT_S, max_msg_size=MESSAGE_MAX_BYTES
        ) as socket:
            self.disconnected.clear()
            self.connected.set()
            backoff.reset()
            async for message in socket:
                if message.type is not aiohttp.WSMsgType.TEXT:
                    continue
                try:
                    event = json.loads(message.data)
                    if isinstance(event, dict):
                        self._on_event(event)
                except (ValueError, KeyError, TypeError, AttributeError) as error:
                    _log.warning("an event of Asterisk's could not be read: %s", error)

    async def get(self, path: str, **query: str) -> Any:  # noqa: ANN401 - JSON
        """Ask for something."""
        return await self._request("GET", path, query)

    async def post(self, path: str, **query: str) -> Any:  # noqa: ANN401 - JSON
        """Make or change something.

        Raises:
            GoneError: it is not there.
            LegError: Asterisk refused, or could not be asked.
        """
        return await self._request("POST", path, query)

    async def delete(self, path: str, **query: str) -> None:
        """End something; one that is gone has ended."""
        try:
            await self._request("DELETE", path, query)
        except GoneError:
            return

    async def media(self, connection_id: str) -> aiohttp.ClientWebSocketResponse:
        """Connect to a media channel; Asterisk insists on the subprotocol."""
        url = f"{self._url}/media/{connection_id}"
        try:
            return await self._http().ws_connect(url, protocols=("media",), heartbeat=HEARTBEAT_S)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            raise LegError(f"Asterisk's media could not be had: {error}") from error

    async def _request(self, method: str, path: str, query: Mapping[str, str]) -> Any:  # noqa: ANN401 - JSON
        url = f"{self._url}/ari/{path}"
        try:
            async with self._http().request(method, url, params=query, timeout=TIMEOUT) as response:
                text = await response.text()
                answer = json.loads(text) if text else {}
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            raise LegError(f"Asterisk could not be asked: {error}") from error
        if response.status < _ERROR:
            return answer
        detail = answer.get("message", "") if isinstance(answer, dict) else ""
        message = f"Asterisk refused: {response.status} {detail}"
        if response.status == _UNAUTHORIZED:
            message = "Asterisk refused the user name or password"
        raise GoneError(message) if response.status == _NOT_FOUND else LegError(message)
