"""The end of background tasks."""

import asyncio
from collections.abc import Iterable

_AGAIN_SECONDS = 0.5


async def end(tasks: Iterable["asyncio.Task[None]"]) -> None:
    """Cancel tasks, and wait until they have ended; how they did is theirs to say.

    A cancellation can get lost: where the timeout of a request strikes at the same moment, the HTTP client turns it
    into a `TimeoutError`, and a loop that tries again goes on for ever. So it is repeated.
    """
    known = tuple(tasks)
    pending = {task for task in known if not task.done()}
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=_AGAIN_SECONDS)
    for task in known:
        if not task.cancelled():
            task.exception()  # it is not to be called one that nobody looked at
