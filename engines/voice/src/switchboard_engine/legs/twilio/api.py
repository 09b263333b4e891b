"""Twilio's REST API for calls, TwiML, and the signature of its requests to us.

Words and members are those of Twilio's documentation of the `Call` resource, of `<Connect><Stream>` and of "Validate
requests from Twilio".
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from xml.sax.saxutils import quoteattr

import aiohttp

from ..leg import LegError, Telephony

DEFAULT_URL = "https://api.twilio.com"
TIMEOUT = aiohttp.ClientTimeout(total=10)
STATUS_UNAUTHORIZED = 401
STATUS_ERROR = 400


class WrongCredentialsError(LegError):
    """Twilio does not know the account or its token."""


@dataclass(frozen=True)
class Urls:
    """Where Twilio finds us: the public base URL, `https://host`, with the leg's paths."""

    public: str

    @property
    def voice(self) -> str:
        """Asked when a call comes in."""
        return f"{self.public}/twilio/voice"

    @property
    def status(self) -> str:
        """Told how a call goes."""
        return f"{self.public}/twilio/status"

    @property
    def media(self) -> str:
        """The media's websocket."""
        return f"{self.public.replace('http', 'ws', 1)}/twilio/media"


def stream(urls: Urls, token: str) -> str:
    """Return the TwiML that connects a call to our websocket; `token` proves that the websocket is that call's."""
    parameter = f'<Parameter name="token" value={quoteattr(token)}/>'
    return f"<Response><Connect><Stream url={quoteattr(urls.media)}>{parameter}</Stream></Connect></Response>"


def forward(to: str) -> str:
    """Return the TwiML that hands a call to another number."""
    return f"<Response><Dial>{to}</Dial></Response>"


def rejection(status: int) -> str:
    """Return the TwiML that refuses a call; Twilio knows `busy` and `rejected`, for a SIP status."""
    reason = "busy" if status in (486, 600) else "rejected"
    return f'<Response><Reject reason="{reason}"/></Response>'


def signature(token: str, url: str, form: Mapping[str, str]) -> str:
    """Return what `X-Twilio-Signature` must be: HMAC-SHA1 over the URL and the form's members in order."""
    content = url + "".join(name + form[name] for name in sorted(form))
    return base64.b64encode(hmac.new(token.encode(), content.encode(), hashlib.sha1).digest()).decode()


class Rest:
    """Calls of one account."""

    def __init__(self, session: aiohttp.ClientSession, telephony: Telephony) -> None:
        """Take the account from the trunk: `username` its SID, `password` its token, `address` the API's URL."""
        self._session = session
        base = telephony.address if telephony.address.startswith("http") else DEFAULT_URL
        self._calls = f"{base.rstrip('/')}/2010-04-01/Accounts/{telephony.username}/Calls"
        credentials = base64.b64encode(f"{telephony.username}:{telephony.password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {credentials}"}

    async def create(self, form: Mapping[str, str]) -> str:
        """Place a call; returns its SID."""
        answer = await self._post(f"{self._calls}.json", form)
        return str(answer["sid"])

    async def update(self, sid: str, form: Mapping[str, str]) -> None:
        """Change a call that runs."""
        await self._post(f"{self._calls}/{sid}.json", form)

    async def _post(self, url: str, form: Mapping[str, str]) -> dict[str, object]:
        try:
            async with self._session.post(url, data=form, headers=self._headers, timeout=TIMEOUT) as response:
                answer = await response.json(content_type=None)
                if response.status == STATUS_UNAUTHORIZED:
                    raise WrongCredentialsError("Twilio refused the account's credentials")
                if response.status >= STATUS_ERROR or not isinstance(answer, dict):
                    detail = answer.get("message") if isinstance(answer, dict) else ""
                    raise LegError(f"Twilio refused: {response.status} {detail}")
                return answer
        except (aiohttp.ClientError, TimeoutError, ValueError) as error:
            raise LegError(f"Twilio could not be asked: {error}") from error
