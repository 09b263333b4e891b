"""Programs of others that tests play against: Debian's baresip, SIPp, Asterisk and espeak-ng.

They are fetched once, by apt and `dpkg -x`, into a folder of their own, and nothing is installed: the folder is
`SWITCHBOARD_TEST_PROGRAMS`, or `switchboard-engine-tests` in the user's cache. A test that cannot have its program
fails and says what is missing.
"""

import fcntl
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
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
# The websocket channel is in Asterisk since 22.6, which only Debian's development suite has: with all that it needs,
# down to its C library.
ASTERISK = ("asterisk", "asterisk-modules", "asterisk-config")
SUITE = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {mirror} sid main\n"
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
    with _alone(root):
        if not root.exists():
            _fetch(PACKAGES[name], root)
    libraries = os.pathsep.join(map(str, [*root.glob("**/*-linux-gnu"), *root.glob("**/pulseaudio"), root / "usr/lib"]))
    return Program(root / "usr/bin" / name, root, {"LD_LIBRARY_PATH": libraries})


def asterisk() -> Program:
    """Return Asterisk, fetched where it is not there yet; its loader runs it with its own libraries."""
    root = cache() / "asterisk"
    with _alone(root):
        if not root.exists():
            _fetch_with_all(ASTERISK, root)
    return Program(root / "usr/sbin/asterisk", root, {})


def asterisk_command(asterisk: Program) -> tuple[str | Path, ...]:
    """Return the beginning of its command line."""
    (libraries,) = asterisk.root.glob("usr/lib/*-linux-gnu")
    return (next(libraries.glob("ld-linux*")), "--library-path", libraries, asterisk.path)


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Keep other processes of the same tests from fetching a program meanwhile."""
    root.parent.mkdir(parents=True, exist_ok=True)
    with root.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch_with_all(packages: tuple[str, ...], root: Path) -> None:
    """Unpack packages of the development suite and everything that they need, as if nothing were installed."""
    with tempfile.TemporaryDirectory(dir=root.parent) as folder:
        work = Path(folder)
        for name in ("lists/partial", "cache/archives/partial"):
            (work / name).mkdir(parents=True)
        (work / "status").touch()
        (work / "sources.list").write_text(SUITE.format(mirror=_mirror(work)))
        settings = {
            "Dir::State": work, "Dir::State::Lists": work / "lists", "Dir::State::status": work / "status",
            "Dir::Cache": work / "cache", "Dir::Etc::SourceList": work / "sources.list",
            "Dir::Etc::SourceParts": "/dev/null", "APT::Install-Recommends": "false", "APT::Sandbox::User": "root",
        }  # fmt: skip
        apt = ["apt-get", *(part for name, value in settings.items() for part in ("-o", f"{name}={value}"))]
        _run([*apt, "update"], work, "is the machine offline?")
        _run([*apt, "-y", "--download-only", "install", *packages], work, "is the machine offline?")
        _unpack(work / "cache/archives", work, root)


def _mirror(work: Path) -> str:
    """Return the mirror of Debian that this machine is set up with."""
    targets = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]
    found = [uri for uri in _run(targets, work, "is apt set up?").split() if uri.endswith("/debian/")]
    if not found:
        pytest.fail("this machine's apt has no mirror of Debian, from which Asterisk is fetched")
    return found[0]


def _unpack(packages: Path, work: Path, root: Path) -> None:
    for package in sorted(packages.glob("*.deb")):
        _run(["dpkg", "-x", str(package), str(work / "root")], work, "the package is damaged")
    (work / "root").rename(root)  # whole, or not at all


def _fetch(packages: tuple[str, ...], root: Path) -> None:
    with tempfile.TemporaryDirectory(dir=root.parent) as work:
        _run(["apt-get", "download", *packages], Path(work), "is the machine offline, or its package list too old?")
        _unpack(Path(work), Path(work), root)


def _run(command: list[str], folder: Path, hint: str) -> str:
    if shutil.which(command[0]) is None:
        pytest.fail(f"{command[0]} is missing, by which programs are fetched")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=FETCH_S, check=False)  # noqa: S603
    if done.returncode:
        pytest.fail(f"`{' '.join(command)}` failed ({hint}): {done.stderr[-500:]}")
    return done.stdout
