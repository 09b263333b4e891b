"""Telnyx's commands for calls, and the signature of its webhooks.

Names are those of Telnyx's documentation: "Call Commands", "Receiving webhooks", "Media streaming over websockets".
"""

import base64
import binascii
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from ..leg import LegError, Telephony

DEFAULT_URL = "https://api.telnyx.com/v2"
TIMEOUT = aiohttp.ClientTimeout(total=10)
TOLERANCE_S = 300
_UNAUTHORIZED = 401
_ERROR = 400
_OVER_CODE = "90018"  # the call has ended already


class WrongCredentialsError(LegError):
    """Telnyx does not know the API key."""


class CallOverError(LegError):
    """A command came when its call was over."""


@dataclass(frozen=True)
class Urls:
    """Where Telnyx finds us: the public base URL, `https://host`, with the leg's paths."""

    public: str

    @property
    def webhook(self) -> str:
        """Told how calls go."""
        return f"{self.public}/telnyx/webhook"

    def media(self, token: str) -> str:
        """Return the media's websocket for a call; `token` proves that it is that call's."""
        return f"{self.public.replace('http', 'ws', 1)}/telnyx/media?token={token}"


def stream(urls: Urls, token: str) -> dict[str, str]:
    """Return the members of a command that stream the call to us and play what we send, PCMU at 8 kHz both ways."""
    return {
        "stream_url": urls.media(token),
        "stream_track": "inbound_track",
        "stream_codec": "PCMU",
        "stream_bidirectional_mode": "rtp",
        "stream_bidirectional_codec": "PCMU",
    }


class PublicKeys:
    """The keys by which webhooks are proved to be Telnyx's: one for each account."""

    def __init__(self, keys: Iterable[str]) -> None:
        """Read the keys as the account's page shows them, in base64.

        Raises:
            ValueError: one is no Ed25519 key.
        """
        self._keys = []
        for key in keys:
            try:
                self._keys.append(Ed25519PublicKey.from_public_bytes(base64.b64decode(key, validate=True)))
            except (binascii.Error, ValueError) as error:
                raise ValueError(f"{key!r} is no public key of Telnyx's: 32 bytes in base64") from error

    def prove(self, body: bytes, signature: str, timestamp: str, now: float) -> bool:
        """Return whether a webhook was signed by Telnyx, within `TOLERANCE_S` of now (Unix seconds)."""
        if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(now - int(timestamp)) > TOLERANCE_S:
            return False
        try:
            signed = base64.b64decode(signature, validate=True)
        except (binascii.Error, ValueError):
            return False
        return any(_is_signed(key, signed, timestamp.encode() + b"|" + body) for key in self._keys)


def _is_signed(key: Ed25519PublicKey, signature: bytes, content: bytes) -> bool:
    try:
        key.verify(signature, content)
    except InvalidSignature:
        return False
    return True


class Commands:
    """Commands of one account."""

    def __init__(self, session: aiohttp.ClientSession, telephony: Telephony) -> None:
        """Take the account from the trunk.

        `username` is the id of its Voice API application, `password` an API key, `address` the API's URL or empty.
        """
        self._session = session
        self._application = telephony.username
        base = telephony.address if telephony.address.startswith("http") else DEFAULT_URL
        self._calls = f"{base.rstrip('/')}/calls"
        self._headers = {"Authorization": f"Bearer {telephony.password}"}

    async def dial(self, members: Mapping[str, Any]) -> tuple[str, str]:
        """Place a call; returns its leg's id and the id for commands."""
        answer = await self._post(self._calls, {**members, "connection_id": self._application})
        data = answer.get("data")
        if not isinstance(data, dict) or not data.get("call_control_id") or not data.get("call_leg_id"):
            raise LegError("Telnyx answered without a call")
        return str(data["call_leg_id"]), str(data["call_control_id"])

    async def act(self, control_id: str, action: str, **members: object) -> None:
        """Give a call a command, such as `hangup`.

        Raises:
            CallOverError: the call has ended.
            LegError: Telnyx refused, or could not be asked.
        """
        await self._post(f"{self._calls}/{control_id}/actions/{action}", members)

    async def _post(self, url: str, members: Mapping[str, Any]) -> dict[str, Any]:
        try:
            async with self._session.post(url, json=members, headers=self._headers, timeout=TIMEOUT) as response:
                answer = await response.json(content_type=None)
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise LegError(f"Telnyx could not be asked: {error}") from error
        if response.status == _UNAUTHORIZED:
            raise WrongCredentialsError("Telnyx refused the API key")
        if response.status >= _ERROR or not isinstance(answer, dict):
            code, detail = _error(answer)
            message = f"Telnyx refused: {response.status} {detail}".strip()
            raise CallOverError(message) if code == _OVER_CODE else LegError(message)
        return answer


def _error(answer: object) -> tuple[str, str]:
    """Return code and words of the first error of an answer."""
    errors = answer.get("errors") if isinstance(answer, dict) else None
    first = errors[0] if isinstance(errors, list) and errors and isinstance(errors[0], dict) else {}
    return str(first.get("code", "")), str(first.get("detail") or first.get("title") or "")
