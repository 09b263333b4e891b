"""The engine as it is run: the command with one worker, the SIP leg and the services of this machine.

Telephones, the service and the model are the test's, in another process than what is measured.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from legs.processes import Process
from support.fake_service import TOKEN, FakeService
from support.ports import free_port
from switchboard_engine import cli
from switchboard_engine.local import BASE_URL_VARIABLE
from switchboard_engine.local.tts import PROGRAM_VARIABLE

from .voices import espeak

SOURCES = Path(__file__).parents[2] / "src"
READY_S = 30.0
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Spent:
    """What a process has spent: seconds of processor time, those of the programs that it ran; memory, MB; threads."""

    own_s: float
    programs_s: float
    resident_mb: float
    threads: int


class WorkerProcess(Process):
    """`switchboard-engine run` with a worker of so many calls."""

    def __init__(self, service: FakeService, model_url: str, *, calls: int) -> None:
        """Attach it to a service."""
        super().__init__(
            *(sys.executable, "-m", "switchboard_engine", "run", "--url", service.url, "--name", "desk"),
            *("--workers", "1", "--calls-per-worker", str(calls), "--health", f"127.0.0.1:{free_port()}"),
            *("--leg", "sip", "--sip-listen", f"127.0.0.1:{free_port()}"),
            *("--services", "switchboard_engine.local:services"),
            env={
                "PYTHONPATH": str(SOURCES),
                cli.TOKEN_VARIABLE: TOKEN,
                PROGRAM_VARIABLE: espeak(),
                BASE_URL_VARIABLE: model_url,
            },
        )
        self._service = service

    async def ready(self) -> None:
        """Run it, and wait until it claims calls."""
        await self.start()
        try:
            # It asks for trunks once its legs are up.
            await self._service.until(
                lambda: bool(self._service.of("claim") and self._service.of("trunks")), seconds=READY_S
            )
        except AssertionError as error:
            raise AssertionError(self.errors()) from error

    def worker_pid(self) -> int:
        """Return the process of its worker."""
        assert self.process is not None
        (child,) = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(child)

    def spent(self) -> Spent:
        """Return what the worker has spent up to now."""
        process = Path(f"/proc/{self.worker_pid()}")
        # After the name, which ends with the last parenthesis: utime, stime, cutime and cstime are fields 14 to 17,
        # num_threads is 20.
        fields = process.joinpath("stat").read_text().rpartition(")")[2].split()
        user, system, programs_user, programs_system = (int(field) / _TICKS_A_SECOND for field in fields[11:15])
        pages = int(process.joinpath("statm").read_text().split()[1])
        resident_mb = pages * os.sysconf("SC_PAGE_SIZE") / 1e6
        return Spent(user + system, programs_user + programs_system, resident_mb, int(fields[17]))
