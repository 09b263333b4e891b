"""Ports for what a test starts: none that the system gives to connections, and each of pytest's workers has its own."""

import contextlib
import os
import random
import socket

# Sound goes over ports below, connections of programs over ports above.
_FIRST, _LAST = 21_501, 32_767
_IN_A_ROW = 4


def free_port() -> int:
    """Return a port that nobody uses, neither it nor its next three, by UDP or TCP."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    share = (_LAST + 1 - _FIRST) // workers
    while True:
        port = _FIRST + worker * share + random.randrange(share - _IN_A_ROW)
        with contextlib.ExitStack() as probes:
            try:
                for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                    for offset in range(_IN_A_ROW):
                        probes.enter_context(socket.socket(socket.AF_INET, kind)).bind(("127.0.0.1", port + offset))
            except OSError:
                continue
            return port
