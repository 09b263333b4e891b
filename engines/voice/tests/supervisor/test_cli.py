"""The command: its arguments, its signals, and what monitoring reads of it."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from support.fake_service import TOKEN, FakeService
from support.ports import free_port
from switchboard_engine import cli
from switchboard_engine.plugs import DEFAULT_HANDLER
from switchboard_engine.settings import RunSettings, WorkerSettings

ROOT = Path(__file__).parents[2]
WAIT_S = 60.0
PYTHON_PATH = f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}"
URL = ["--url", "http://127.0.0.1:8080"]
TOKENS = {cli.TOKEN_VARIABLE: TOKEN}


def settings_of(arguments: Sequence[str], environment: dict[str, str]) -> RunSettings:
    return cli.settings_of(cli._parser().parse_args(["run", *arguments]), environment)


def test_what_is_set_when_little_is_given(tmp_path: Path) -> None:
    settings = settings_of(["--name", "desk"], {**TOKENS, cli.URL_VARIABLE: "https://service"})
    assert settings == RunSettings(
        WorkerSettings("https://service", TOKEN, "desk", 5, DEFAULT_HANDLER),
        workers=os.cpu_count() or 1,
        health_host="127.0.0.1",
        health_port=9464,
        drain_seconds=300,
    )
    assert TOKEN not in repr(settings)
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    assert settings_of([*URL, "--token-file", str(file)], {}).worker.token == TOKEN
    assert settings_of([*URL, "--token", "given"], TOKENS).worker.token == "given"


def test_what_a_worker_is_told_is_what_was_set() -> None:
    arguments = [
        *URL,
        *(
            "--name",
            "desk",
            "--workers",
            "3",
            "--calls-per-worker",
            "7",
            "--health",
            "[::1]:0",
            "--drain-seconds",
            "1.5",
        ),
        *("--handler", "a:b", "--leg", "sip=c:d", "--leg", "web=e:f", "--mode", "pipeline", "--account", "1"),
        *("--account", "2", "--trunk", "3", "--type", "outbound", "--web-url", "https://e", "--log-level", "DEBUG"),
    ]
    settings = settings_of(arguments, TOKENS)
    assert (settings.workers, settings.health_host, settings.health_port, settings.drain_seconds) == (3, "::1", 0, 1.5)
    worker = settings.worker
    assert worker == WorkerSettings(
        url="http://127.0.0.1:8080",
        token=TOKEN,
        name="desk",
        capacity=7,
        handler="a:b",
        legs={"sip": "c:d", "web": "e:f"},
        modes=("pipeline",),
        account_ids=(1, 2),
        trunk_ids=(3,),
        types=("outbound",),
        web_url="https://e",
        log_level="DEBUG",
    )
    assert WorkerSettings.read(worker.message()) == worker


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Give the service's URL"),
        ([*URL], "Give an engine token"),
        (["--url", "service", "--token", "t"], "must be an absolute http or https URL"),
        ([*URL, "--token", "two words"], "must be printable ASCII"),
        ([*URL, "--token-file", "/no/such/file"], "No such file"),
        ([*URL, "--token", "t", "--token-file", "f"], "not allowed with"),
        ([*URL, "--workers", "0"], "a number from 1 to 256"),
        ([*URL, "--calls-per-worker", "1001"], "a number from 1 to 1000"),
        ([*URL, "--health", "9464"], "an address is HOST:PORT"),
        ([*URL, "--health", "h:99999"], "an address is HOST:PORT"),
        ([*URL, "--drain-seconds", "nan"], "seconds from 0"),
        ([*URL, "--drain-seconds", "soon"], "seconds from 0"),
        ([*URL, "--leg", "pigeon"], "it is asterisk, sip, telnyx, twilio, web, or NAME=MODULE:FUNCTION"),
        ([*URL, "--name", ""], "a name has 1 to"),
        ([*URL, "--token", "t", "--orphans", "sip=no.such:hook"], "cannot be loaded"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (cli.URL_VARIABLE, cli.TOKEN_VARIABLE):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(SystemExit) as error:
        cli.main(["run", *arguments])
    assert error.value.code == 2
    assert sentence in capsys.readouterr().err


@asynccontextmanager
async def command(service: FakeService, *arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, str]]:
    """Run the command for a service; yields its process and the address of its health port."""
    address = f"127.0.0.1:{free_port()}"
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "switchboard_engine", "run", "--url", service.url, "--workers", "1", "--name", "desk"),
        *("--health", address, "--handler", "support.handlers:deaf", *arguments),
        env={"PYTHONPATH": PYTHON_PATH, cli.TOKEN_VARIABLE: TOKEN},
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        yield process, f"http://{address}"
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_the_command_from_its_start_to_its_second_signal(service: FakeService) -> None:
    async with command(service) as (process, url), aiohttp.ClientSession() as session:
        service.offer(1)
        await service.until(lambda: 1 in service.calls and service.calls[1].status == "in-progress")

        async def is_well() -> bool:
            async with session.get(f"{url}/healthz") as answer:
                return answer.status == 200

        # The worker says every second how it is.
        for _ in range(300):
            if await is_well():
                break
            await asyncio.sleep(0.1)
        assert await is_well()
        async with session.get(f"{url}/metrics") as answer:
            assert answer.content_type == "text/plain"
            assert 'switchboard_engine_calls_running{worker="desk-1"} 1\n' in await answer.text()
        # As a terminal does, to the whole group: the worker leaves it to its supervisor.
        os.killpg(process.pid, signal.SIGINT)
        await service.until(lambda: service.last("claim", "capacity") == 0)
        assert not await is_well()
        assert service.calls[1].is_running
        os.killpg(process.pid, signal.SIGTERM)
        _, errors = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode == 0
    assert service.calls[1].status == "ended"
    assert TOKEN.encode() not in errors


async def test_the_command_says_what_it_lacks(
    service: FakeService, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pipecat.py").write_text("raise ImportError('it is not installed')")
    monkeypatch.setattr(sys.modules[__name__], "PYTHON_PATH", f"{tmp_path}{os.pathsep}{PYTHON_PATH}")
    async with command(service, "--handler", DEFAULT_HANDLER) as (process, _):
        _, errors = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode == 1
    assert b"pip install 'switchboard-engine[voice]'" in errors


async def test_a_health_port_that_is_taken(service: FakeService) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        async with command(service, "--health", address) as (process, _):
            _, errors = await asyncio.wait_for(process.communicate(), WAIT_S)
    assert process.returncode == 1
    assert b"the health port cannot be opened" in errors


def test_the_services_are_named() -> None:
    assert settings_of([*URL, "--services", "c:d"], TOKENS).worker.services == "c:d"
    assert settings_of(URL, {**TOKENS, "SWITCHBOARD_ENGINE_SERVICES": "e:f"}).worker.services == "e:f"
    assert settings_of(URL, TOKENS).worker.services is None
