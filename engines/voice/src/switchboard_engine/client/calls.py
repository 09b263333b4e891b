"""The calls that an engine carries at the moment, by id, and the room for more."""

import asyncio
from collections.abc import Iterable, Iterator

from .call import Call
from .wire import Command


class RunningCalls:
    """The running calls; `changed` is set by every change, and whoever waits for it clears it."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.changed = asyncio.Event()
        self._by_id: dict[int, Call] = {}
        self._empty = asyncio.Event()
        self._empty.set()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Call]:
        return iter(tuple(self._by_id.values()))

    @property
    def room(self) -> int:
        """Calls that may be taken besides; 0 when arrivals took more than the capacity."""
        return max(0, self.capacity - len(self._by_id))

    def find(self, call_id: int) -> Call | None:
        """Return the running call of this id."""
        return self._by_id.get(call_id)

    def add(self, call: Call) -> None:
        """Add a call that was claimed or brought."""
        self._by_id[call.id] = call
        self._empty.clear()
        self.changed.set()

    def remove(self, call: Call) -> None:
        """Remove a call that is over."""
        if self._by_id.get(call.id) is call:
            del self._by_id[call.id]
            self.changed.set()
        if not self._by_id:
            self._empty.set()

    async def empty(self) -> None:
        """Wait until no call runs."""
        await self._empty.wait()

    def dispatch(self, commands: Iterable[Command]) -> None:
        """Hand each command to its call; one for a call that is over is out of date."""
        for command in commands:
            call = self._by_id.get(command.call_id)
            if call is not None:
                call.deliver((command,))

    def lose(self, call_ids: Iterable[int], reason: str) -> None:
        """Tell calls that they are lost."""
        for call_id in call_ids:
            call = self._by_id.get(call_id)
            if call is not None:
                call.lose(reason)
