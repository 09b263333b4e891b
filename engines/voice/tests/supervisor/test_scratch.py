"""Directories of temporary files: of supervisors that were killed nothing stays, of others nothing is touched."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from switchboard_engine.scratch import Scratch


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make a temporary folder of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_all_is_removed_at_the_end(folder: Path) -> None:
    with Scratch() as scratch:
        (scratch.make(1) / "call.wav").write_bytes(b"sound")
        kept = scratch.make(2) / "call.wav"
        kept.write_bytes(b"sound")
        scratch.remove(1)
        assert not (scratch.path / "1").exists()
        assert kept.exists()
        assert list(scratch.make(2).iterdir()) == []
        assert {entry.stat().st_mode & 0o777 for entry in (scratch.path, *scratch.path.iterdir())} == {0o700}
    assert list(folder.iterdir()) == []


def test_what_a_dead_supervisor_left_is_removed_by_the_next(folder: Path) -> None:
    left = folder / "switchboard-engine-dead"
    (left / "1" / "baresip-x").mkdir(parents=True)
    (left / "1" / "baresip-x" / "uuid").touch()
    with Scratch() as scratch:
        assert list(folder.iterdir()) == [scratch.path]


def test_what_a_worker_of_a_dead_supervisor_uses_stays(folder: Path) -> None:
    scratch = Scratch()
    worker = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[scratch.lock])
    os.close(scratch.lock)  # as the supervisor's death does
    try:
        with Scratch():
            assert scratch.path.exists()
    finally:
        worker.communicate()
    with Scratch() as other:
        assert list(folder.iterdir()) == [other.path]


def test_what_is_no_directory_of_ours_stays(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "file").touch()
    (folder / "switchboard-engine-link").symlink_to(folder / "elsewhere")
    (folder / "switchboard-engine-file").touch()
    (folder / "another").mkdir()
    before = sorted(folder.rglob("*"))
    with Scratch(), Scratch():
        pass
    assert sorted(folder.rglob("*")) == before
