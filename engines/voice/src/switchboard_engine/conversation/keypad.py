"""The keys that the customer presses: for a function that collects them, or, in a row, for the model to read."""

import asyncio
from collections.abc import Awaitable, Callable

PAUSE_S = 2.0
"""Time without a key after which a row of keys is complete."""
ROW_MAX = 64

Row = Callable[[str], Awaitable[None]]


class Keypad:
    """Collects keys into rows."""

    def __init__(self, pause_s: float = PAUSE_S) -> None:
        """Complete a row after a pause."""
        self.on_row: Row | None = None
        """Called with each row that nobody collects."""
        self._pause_s = pause_s
        self._row = ""
        self._collecting: asyncio.Queue[str] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def pressed(self, key: str) -> None:
        """Take a key."""
        if self._collecting is not None:
            self._collecting.put_nowait(key)
            return
        self._row += key
        if self._timer is not None:
            self._timer.cancel()
        pause_s = 0.0 if len(self._row) >= ROW_MAX else self._pause_s
        self._timer = asyncio.get_running_loop().call_later(pause_s, self._complete)

    def _complete(self) -> None:
        row, self._row, self._timer = self._row, "", None
        if row and self.on_row is not None:
            task = asyncio.ensure_future(_told(self.on_row, row))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def collect(self, *, stop_key: str, timeout_s: float) -> str:
        """Return the keys up to the stop key, or up to a pause of `timeout_s`; those of a row that has begun count."""
        collected, pressed, self._row = "", self._row, ""
        if self._timer is not None:
            self._timer.cancel()
        self._collecting = asyncio.Queue()
        for key in pressed:
            self._collecting.put_nowait(key)
        try:
            while len(collected) < ROW_MAX:
                key = await asyncio.wait_for(self._collecting.get(), timeout_s)
                if key == stop_key:
                    break
                collected += key
        except TimeoutError:
            pass
        finally:
            self._collecting = None
        return collected

    def close(self) -> None:
        """Stop waiting for a row's end."""
        if self._timer is not None:
            self._timer.cancel()
        for task in tuple(self._tasks):
            task.cancel()


async def _told(listener: Row, row: str) -> None:
    await listener(row)
