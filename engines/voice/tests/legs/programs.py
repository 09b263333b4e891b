"""Programs of others that tests play against: Debian's baresip, SIPp and espeak-ng.

They are fetched once, by `apt-get download` and `dpkg -x`, into a folder of their own, and nothing is installed: the
folder is `SWITCHBOARD_TEST_PROGRAMS`, or `switchboard-engine-tests` in the user's cache. A test that cannot have its
program fails and says what is missing.
"""

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGES = {
    "baresip": (
        "baresip-core", "libre0", "librem0", "libsndfile1", "libflac12", "libmp3lame0", "libmpg123-0", "libogg0",
        "libopus0", "libvorbis0a", "libvorbisenc2",
    ),
    "espeak-ng": (
        "espeak-ng", "espeak-ng-data", "libespeak-ng1", "libpcaudio0", "libsonic0", "libasound2", "libpulse0",
        "libasyncns0", "libdbus-1-3", "libx11-6", "libx11-xcb1", "libxcb1", "libxau6", "libxdmcp6", "libbsd0", "libmd0",
        "libsndfile1", "libflac12", "libmp3lame0", "libmpg123-0", "libogg0", "libopus0", "libvorbis0a", "libvorbisenc2",
    ),
    "sipp": ("sip-tester", "libgsl27", "libgslcblas0", "libpcap0.8", "libsctp1"),
}  # fmt: skip
FETCH_S = 300


@dataclass(frozen=True)
class Program:
    """One that can be run: its file, the folder that it was unpacked in, and the environment that it needs."""

    path: Path
    root: Path
    env: dict[str, str]


def cache() -> Path:
    """Return the folder of all programs."""
    named = os.environ.get("SWITCHBOARD_TEST_PROGRAMS")
    return Path(named) if named else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / (
        "switchboard-engine-tests"
    )  # fmt: skip


def program(name: str) -> Program:
    """Return a program, fetched where it is not there yet."""
    root = cache() / name
    if not root.exists():
        _fetch(PACKAGES[name], root)
    libraries = os.pathsep.join(map(str, [*root.glob("**/*-linux-gnu"), *root.glob("**/pulseaudio"), root / "usr/lib"]))
    return Program(root / "usr/bin" / name, root, {"LD_LIBRARY_PATH": libraries})


def _fetch(packages: tuple[str, ...], root: Path) -> None:
    for tool in ("apt-get", "dpkg"):
        if shutil.which(tool) is None:
            pytest.fail(f"{tool} is missing, by which {packages[0]} is fetched")
    root.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=root.parent) as work:
        _run(["apt-get", "download", *packages], Path(work), "is the machine offline, or its package list too old?")
        unpacked = Path(work) / "root"
        for package in sorted(Path(work).glob("*.deb")):
            _run(["dpkg", "-x", str(package), str(unpacked)], Path(work), "the package is damaged")
        unpacked.rename(root)  # whole, or not at all


def _run(command: list[str], folder: Path, hint: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_S, check=False)  # noqa: S603
    if done.returncode:
        pytest.fail(f"`{' '.join(command)}` failed ({hint}): {done.stderr[-500:]}")
