"""The dialogs that a worker has up, told to its supervisor: should the worker die, their far ends can still be hung up.

A leg calls `dialogs.up` once a far end may have to be told of the end, and `dialogs.down` after it was; nobody else
does, since only the leg knows. What it says of a dialog is its own: it comes back to its orphan hook as it was. The
hook also gets the dialogs that a worker still had up when it stopped in good order.
"""

from collections.abc import Callable, Mapping
from typing import Any

Sink = Callable[[Mapping[str, Any]], None]


class Dialogs:
    """The dialogs of this process; without a supervisor nobody is told."""

    def __init__(self) -> None:
        self._sink: Sink | None = None

    def tell(self, sink: Sink | None) -> None:
        """Tell each change from here on to a sink; None ends that."""
        self._sink = sink

    def up(self, leg: str, key: str, data: Mapping[str, Any]) -> None:
        """A leg has a dialog, named by a key of its own, or its data changed; `data` is JSON."""
        self._send({"kind": "dialog", "leg": leg, "key": key, "data": dict(data)})

    def down(self, leg: str, key: str) -> None:
        """A dialog is over, and its far end knows."""
        self._send({"kind": "dialog over", "leg": leg, "key": key})

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._sink is not None:
            self._sink(message)


dialogs = Dialogs()
"""The dialogs of this process."""
