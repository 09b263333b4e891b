"""Ends the calls that a worker left in Asterisk when it died."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..leg import LegError
from ..settings import AsteriskSettings
from .ari import Ari

_log = logging.getLogger(__name__)


async def end_dialogs(left: Sequence[Mapping[str, Any]]) -> None:
    """Delete the channels and bridges of each call, at the same time; one that cannot be is logged."""
    await asyncio.gather(*(_end(data) for data in left))


async def _end(data: Mapping[str, Any]) -> None:
    ari = Ari(AsteriskSettings(data["url"], data["username"], data["password"]), lambda _: None)
    await ari.open()
    try:
        for path in data["paths"]:
            await ari.delete(str(path))
    except LegError as error:
        _log.warning("a call of a dead worker could not be ended: %s", error)
    finally:
        await ari.close()
