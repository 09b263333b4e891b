"""What a service was given and has not done yet, so that another can do it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipecat.frames.frames import Frame

FRAMES_MAX = 4_096


@dataclass(slots=True)
class Kept:
    """A frame that was given to the service."""

    frame: Frame
    is_owed: bool
    """Whether it is work, kept until that is done; any other frame is kept until the service passes it on."""
    passed: bool = False
    """Whether the service has passed it on, so that it must not do so again."""


class Journal:
    """Frames by their ids, in order."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._kept: dict[int, Kept] = {}

    def __iter__(self) -> Iterator[Kept]:
        """Iterate over what is kept, in order, while it may change."""
        return iter(list(self._kept.values()))

    def __len__(self) -> int:
        """Return how many frames are kept."""
        return len(self._kept)

    @property
    def is_full(self) -> bool:
        """Whether a service has been given more than any does not get done."""
        return len(self._kept) > FRAMES_MAX

    def owed(self) -> list[Frame]:
        """Return the frames that are work, in order."""
        return [kept.frame for kept in self._kept.values() if kept.is_owed]

    def keep(self, frame: Frame, *, is_owed: bool, passed: bool = False) -> None:
        """Keep a frame that is given to the service."""
        self._kept[frame.id] = Kept(frame, is_owed, passed)

    def passes(self, frame: Frame) -> bool:
        """Note that the service passed on a frame; returns whether it is the first time."""
        kept = self._kept.get(frame.id)
        if kept is None:
            return True
        first, kept.passed = not kept.passed, True
        if not kept.is_owed:
            del self._kept[frame.id]
        return first

    def drop(self, is_done: Callable[[Frame], bool]) -> None:
        """Forget the work for which `is_done`; what was only to be passed on stays."""
        for key, kept in list(self._kept.items()):
            if kept.is_owed and is_done(kept.frame):
                del self._kept[key]

    def drop_first(self, of: type[Frame]) -> None:
        """Forget the first frame of a type."""
        for key, kept in self._kept.items():
            if isinstance(kept.frame, of):
                del self._kept[key]
                return

    def rewrite(self, kept: list[Kept]) -> None:
        """Keep these instead."""
        self._kept = {one.frame.id: one for one in kept}

    def interrupt(self) -> None:
        """Forget what an interruption makes undone."""
        self._kept = {key: kept for key, kept in self._kept.items() if not kept.frame.interruptible}

    def clear(self) -> list[Frame]:
        """Forget everything; returns what was to be passed on and was not."""
        left = [kept.frame for kept in self._kept.values() if not kept.is_owed and not kept.passed]
        self._kept.clear()
        return left
