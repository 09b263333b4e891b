"""The temporary files of workers: a directory for each, beneath their supervisor's, removed when the worker is gone.

Whoever is killed removes nothing: a SIP stack leaves its directory, a conversation its recording. A supervisor that was
killed leaves all that; the next one removes it. As long as a process of it lives, it holds a lock, which the workers
inherit.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

_PREFIX = "switchboard-engine-"
_UNLOCKED_PREFIX = f".{_PREFIX}"


class Scratch:
    """A supervisor's directory, there while it is entered."""

    def __init__(self) -> None:
        """Make it in `TMPDIR`, and remove those of supervisors that are gone; raises `OSError`."""
        _remove_abandoned()
        made = Path(tempfile.mkdtemp(prefix=_UNLOCKED_PREFIX))
        self.lock = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
        """File descriptor to be inherited by all processes that use it."""
        fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # Under this name others look for it, who must find it locked.
        self.path = made.rename(made.with_name(made.name.removeprefix(".")))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Remove it, with all that is in it."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.lock)

    def make(self, number: int) -> Path:
        """Make an empty directory for a worker; raises `OSError`."""
        self.remove(number)
        path = self._path(number)
        path.mkdir(0o700)
        return path

    def remove(self, number: int) -> None:
        """Remove the directory of a worker that is gone."""
        shutil.rmtree(self._path(number), ignore_errors=True)

    def _path(self, number: int) -> Path:
        return self.path / str(number)


def _remove_abandoned() -> None:
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # another user's, a file, or in use
            held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.fstat(held).st_uid == os.geteuid():
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(held)
