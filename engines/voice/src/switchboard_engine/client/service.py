"""HTTP to the service: one session with the engine's token, one method per kind of request, nothing repeated.

The token is sent in the `Authorization` header and appears nowhere else: not in a log line, not in an exception, not in
the text form of this object. Redirects are not followed, since the token would go along.
"""

import json
import logging
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

import aiohttp

from .. import __version__
from .errors import UnreachableError, from_answer
from .wire import Json

_log = logging.getLogger(__name__)

_REPLY_BYTES_MAX = 8 << 20
"""Largest answer: a tool's may carry 1 MiB, escaped."""
_CHUNK_BYTES = 1 << 16
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class Service:
    """The service at a base URL, for one engine token; an async context manager that holds the connections."""

    def __init__(self, url: str, token: str) -> None:
        """Take an absolute http(s) URL without query, and a token of printable ASCII; else `ValueError`."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            message = "The service's URL must be an absolute http or https URL without a query."
            raise ValueError(message)
        if not token or not all("!" <= character <= "~" for character in token):
            message = "The engine token must be printable ASCII without spaces."
            raise ValueError(message)
        if parts.scheme == "http" and parts.hostname not in _LOOPBACK:
            _log.warning("the service is reached over plain http: it hands out no credentials of trunks that way")
        self.url = url.rstrip("/")
        self._token = token
        self._session: aiohttp.ClientSession | None = None

    def __repr__(self) -> str:
        return f"Service({self.url!r})"

    async def __aenter__(self) -> Self:
        headers = {"Authorization": f"Bearer {self._token}", "User-Agent": f"switchboard-engine/{__version__}"}
        # The number of requests at once is bounded by the engine's calls.
        connector = aiohttp.TCPConnector(limit=0)
        self._session = aiohttp.ClientSession(connector=connector, headers=headers, cookie_jar=aiohttp.DummyCookieJar())
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, path: str, query: Mapping[str, str] | None = None, *, timeout: float) -> Json:
        """Return the JSON object of a 2xx answer; raises a `ServiceError` for anything else."""
        return await self._request("GET", path, timeout=timeout, params=query)

    async def post(self, path: str, body: Mapping[str, Any] | bytes, *, timeout: float, key: str | None = None) -> Json:
        """Send JSON, bytes as they are; `key` is the `Idempotency-Key` under which it may be repeated."""
        data = body if isinstance(body, bytes) else encode(body)
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Idempotency-Key"] = key
        return await self._request("POST", path, timeout=timeout, data=data, headers=headers)

    async def put(self, path: str, body: AsyncIterator[bytes], *, size: int, content_type: str, idle: float) -> Json:
        """Stream a body of `size` bytes; `idle` is the longest time without progress, seconds."""
        headers = {"Content-Type": content_type, "Content-Length": str(size)}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=idle, sock_read=idle)
        return await self._request("PUT", path, timeout=timeout, data=body, headers=headers)

    async def _request(self, method: str, path: str, *, timeout: float | aiohttp.ClientTimeout, **more: Any) -> Json:  # noqa: ANN401 - arguments of aiohttp
        if self._session is None:
            message = "The service is used outside its context."
            raise RuntimeError(message)
        limit = timeout if isinstance(timeout, aiohttp.ClientTimeout) else aiohttp.ClientTimeout(total=timeout)
        try:
            async with self._session.request(
                method, self.url + path, timeout=limit, allow_redirects=False, **more
            ) as answer:
                return _judge(answer, path, await _read(answer))
        except (aiohttp.ClientError, TimeoutError, ConnectionError) as error:
            # The text of some errors of the client quotes the request; its type says enough.
            message = f"{method} {path}: no answer from the service ({type(error).__name__})."
            raise UnreachableError(message) from None


def encode(body: Mapping[str, Any]) -> bytes:
    """Return JSON as compact UTF-8; `ValueError` for numbers that JSON does not have."""
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _judge(answer: aiohttp.ClientResponse, path: str, body: bytes) -> Json:
    """Return the object of a 2xx answer, or raise what the answer means."""
    if 300 <= answer.status < 400:  # noqa: PLR2004 - the class of redirects
        message = f"{path}: the service answers with a redirect; give the engine the URL it leads to."
        raise UnreachableError(message)
    try:
        read = json.loads(body) if body else {}
    except ValueError:
        read = None
    if 200 <= answer.status < 300:  # noqa: PLR2004 - the class of successes
        if isinstance(read, dict):
            return read
        message = f"{path}: the service's answer is no JSON object."
        raise UnreachableError(message)
    raise from_answer(answer.status, read if isinstance(read, dict) else {}, _retry_after(answer))


async def _read(answer: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in answer.content.iter_chunked(_CHUNK_BYTES):
        body += chunk
        if len(body) > _REPLY_BYTES_MAX:
            message = "The service's answer is too large."
            raise UnreachableError(message)
    return bytes(body)


def _retry_after(answer: aiohttp.ClientResponse) -> float:
    """Return the pause that the service asks for, seconds; 0 if it asks for none or names a date."""
    value = answer.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else 0.0
