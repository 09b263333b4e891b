"""Ends the calls that a worker left when it died, by Telnyx's commands."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from ..leg import LegError, Telephony
from .api import CallOverError, Commands

_log = logging.getLogger(__name__)


async def end_dialogs(left: Sequence[Mapping[str, Any]]) -> None:
    """End each call, at the same time; one that cannot be is logged."""
    async with aiohttp.ClientSession() as session:
        await asyncio.gather(*(_end(session, data) for data in left))


async def _end(session: aiohttp.ClientSession, data: Mapping[str, Any]) -> None:
    commands = Commands(session, Telephony(**data["telephony"]))
    try:
        await commands.act(str(data["control_id"]), "hangup")
    except CallOverError:
        return
    except LegError as error:
        _log.warning("the call %s of a dead worker could not be ended: %s", data["control_id"], error)
