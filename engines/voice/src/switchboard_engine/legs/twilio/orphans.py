"""Ends the calls that a worker left when it died, by Twilio's API."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from ..leg import LegError, Telephony
from .api import Rest

_log = logging.getLogger(__name__)


async def end_dialogs(left: Sequence[Mapping[str, Any]]) -> None:
    """End each call, at the same time; one that cannot be is logged."""
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(_end(session, data) for data in left))


async def _end(session: aiohttp.ClientSession, data: Mapping[str, Any]) -> None:
    rest = Rest(session, Telephony(**data["telephony"]))
    try:
        # It ends a call in any state.
        await rest.update(str(data["sid"]), {"Status": "completed"})
    except LegError as error:
        _log.warning("the call %s of a dead worker could not be ended: %s", data["sid"], error)
