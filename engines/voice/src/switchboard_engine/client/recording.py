"""Uploads the recording of a call: a file, streamed in chunks, begun again when the connection breaks."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from .backoff import Backoff, persist
from .service import Service
from .timing import Timing
from .wire import Json, text

BYTES_MAX = 256 << 20
"""Largest recording that the service takes."""
TYPES = frozenset({"audio/wav", "audio/ogg", "audio/mpeg"})
"""Content types that the service takes."""

_CHUNK_BYTES = 1 << 18
_TRY_SECONDS = 600.0
"""How long an upload is tried again; the service takes a recording for 24 h."""


async def upload(service: Service, timing: Timing, call_id: int, file: Path, content_type: str) -> str:
    """Upload a file and return its URL.

    Raises `ValueError` for a type or size that the service does not take, `ForbiddenError` where the assistant does not
    record, another `ServiceError` for what failed. The file must not change meanwhile.
    """
    size = (await asyncio.to_thread(file.stat)).st_size
    if content_type not in TYPES or not 0 < size <= BYTES_MAX:
        message = f"A recording of {size} bytes, {content_type}, is not taken."
        raise ValueError(message)

    async def attempt() -> Json:
        path = f"/engine/calls/{call_id}/recording"
        # Closed here: the client drops the body where it stands once an answer came, or the connection broke.
        with file.open("rb") as source:
            chunks = _chunks(source, size)
            return await service.put(path, chunks, size=size, content_type=content_type, idle=4 * timing.answer)

    answer = await persist(attempt, Backoff(timing.backoff_first, timing.backoff_most), _TRY_SECONDS)
    return text(answer, "url") or ""


async def _chunks(source: BinaryIO, size: int) -> AsyncIterator[bytes]:
    """Read at most `size` bytes, in a thread: a slow disk must not stop the audio of calls."""
    while size and (chunk := await asyncio.to_thread(source.read, min(size, _CHUNK_BYTES))):
        size -= len(chunk)
        yield chunk
