"""The command `switchboard-engine`."""

import argparse
import asyncio
import importlib
import logging
import os
import platform
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from . import __version__, health, leg_options
from .client.service import Service
from .legs.settings import NAMED
from .plugs import DEFAULT_HANDLER, SERVICES_VARIABLE, OrphanHook, PlugError, load
from .settings import RunSettings, WorkerSettings
from .supervisor import Supervisor

TOKEN_VARIABLE = "SWITCHBOARD_ENGINE_TOKEN"  # noqa: S105 - the name of a variable
URL_VARIABLE = "SWITCHBOARD_URL"
_NAME_CHARS_MAX = 64 - len("-1000")
_DRAIN_SECONDS_MAX = 86_400
_LEGS = "switchboard_engine.legs"
_FAILED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0 after a drain, 1 when it cannot run, 2 for wrong arguments."""
    parser = _parser()
    given = parser.parse_args(arguments)
    if given.command == "check":
        return _check(os.environ)
    logging.basicConfig(level=given.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        settings = settings_of(given, os.environ)
        # A hook that was named goes before the leg's own.
        hooks = {leg: load(f"{_LEGS}.{leg}:end_dialogs") for leg in settings.worker.named_legs if leg != "web"}
        hooks |= {leg: load(name) for leg, name in given.orphans}
    except (ValueError, OSError, PlugError) as error:
        parser.error(str(error))
    return asyncio.run(_run(settings, hooks))


def settings_of(given: argparse.Namespace, environment: Mapping[str, str]) -> RunSettings:
    """Return the settings that arguments and environment name; `ValueError` or `OSError` for wrong ones."""
    url = given.url or environment.get(URL_VARIABLE)
    if not url:
        message = f"Give the service's URL with --url or {URL_VARIABLE}."
        raise ValueError(message)
    worker = WorkerSettings(
        url=url,
        token=_token(given, environment),
        name=given.name,
        capacity=given.calls_per_worker,
        handler=given.handler,
        legs={name: plug for name, plug in given.leg if plug},
        services=given.services or environment.get(SERVICES_VARIABLE),
        named_legs=leg_options.settings_of(
            [name for name, plug in given.leg if not plug],
            given,
            environment,
            workers=given.workers,
            capacity=given.calls_per_worker,
        ),
        modes=tuple(given.mode),
        account_ids=tuple(given.account),
        trunk_ids=tuple(given.trunk),
        types=tuple(given.type),
        web_url=given.web_url,
        log_level=given.log_level,
    )
    # Wrong ones are said here once, not by each worker.
    Service(worker.url, worker.token)
    host, port = given.health
    return RunSettings(worker, given.workers, host, port, given.drain_seconds)


def _check(environment: Mapping[str, str]) -> int:
    try:
        check = importlib.import_module(".providers.check", __package__)
    except ImportError:
        sys.stderr.write(
            "switchboard-engine: providers need the extra `voice`: pip install 'switchboard-engine[voice]'\n"
        )
        return _FAILED
    try:
        sys.stdout.write(check.report(environment))
    except check.ProviderError as error:
        sys.stderr.write(f"switchboard-engine: {error}\n")
        return _FAILED
    return 0


async def _run(settings: RunSettings, hooks: Mapping[str, OrphanHook]) -> int:
    supervisor = Supervisor(settings, hooks)
    try:
        server = await health.serve(supervisor, settings.health_host, settings.health_port)
    except OSError as error:
        sys.stderr.write(f"switchboard-engine: the health port cannot be opened: {error}\n")
        return _FAILED
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, supervisor.signalled)
    try:
        failure = await supervisor.run()
    finally:
        await server.cleanup()
    if failure is not None:
        sys.stderr.write(f"switchboard-engine: {failure}\n")
        return _FAILED
    return 0


def _token(given: argparse.Namespace, environment: Mapping[str, str]) -> str:
    if given.token:
        return str(given.token)
    if given.token_file:
        return Path(given.token_file).read_text(encoding="ascii").strip()
    if token := environment.get(TOKEN_VARIABLE):
        return token
    message = f"Give an engine token with --token-file or {TOKEN_VARIABLE}."
    raise ValueError(message)


def _name(text: str) -> str:
    if not 1 <= len(text) <= _NAME_CHARS_MAX:
        message = f"a name has 1 to {_NAME_CHARS_MAX} characters"
        raise argparse.ArgumentTypeError(message)
    return text


def _from_1_to(most: int) -> Callable[[str], int]:
    def count(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            message = f"a number from 1 to {most}"
            raise argparse.ArgumentTypeError(message)
        return int(text)

    return count


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _DRAIN_SECONDS_MAX:
        message = f"seconds from 0 to {_DRAIN_SECONDS_MAX}"
        raise argparse.ArgumentTypeError(message)
    return seconds


def _address(text: str) -> tuple[str, int]:
    try:
        return leg_options.address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _leg(text: str) -> tuple[str, str]:
    """Read the name of a leg of this package, or a plug."""
    if text in NAMED:
        return text, ""
    try:
        return _pair(text)
    except argparse.ArgumentTypeError as error:
        names = ", ".join(sorted(NAMED))
        raise argparse.ArgumentTypeError(f"it is {names}, or NAME=MODULE:FUNCTION") from error


def _pair(text: str) -> tuple[str, str]:
    name, _, plug = text.partition("=")
    if not name or ":" not in plug:
        message = "it is NAME=MODULE:FUNCTION"
        raise argparse.ArgumentTypeError(message)
    return name, plug


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="switchboard-engine", description="The voice engine of Switchboard.")
    parser.add_argument("--version", action="version", version=f"switchboard-engine {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    commands.add_parser("check", help="say which providers have their keys and libraries, and what the others lack")
    run = commands.add_parser("run", help="carry calls")
    add = run.add_argument
    add("--url", help=f"base URL of the service; else {URL_VARIABLE}")
    token = run.add_mutually_exclusive_group()
    token.add_argument("--token", help="engine token; shows in process lists, so rather give one of the others")
    token.add_argument("--token-file", help=f"file with the engine token; else {TOKEN_VARIABLE}")
    add("--name", type=_name, default=platform.node() or "engine", help="name of this host's engines (its host name)")
    add("--workers", type=_from_1_to(256), default=os.cpu_count() or 1, help="worker processes (one a core)")
    add("--calls-per-worker", type=_from_1_to(1_000), default=5, help="most calls of a worker (5)")
    add("--health", type=_address, default=("127.0.0.1", 9464), help="address of /healthz and /metrics")
    add("--drain-seconds", type=_seconds, default=300.0, help="how long calls may go on after SIGTERM (300)")
    add("--handler", default=DEFAULT_HANDLER, help="module:function that carries a call")
    add(
        "--leg",
        type=_leg,
        action="append",
        default=[],
        metavar="LEG",
        help=f"way to telephones or browsers: {', '.join(sorted(NAMED))}, or NAME=MODULE:FUNCTION",
    )
    add("--services", help=f"module:function that makes speech and language services; else {SERVICES_VARIABLE}")
    add(
        "--orphans",
        type=_pair,
        action="append",
        default=[],
        metavar="LEG=MODULE:FUNCTION",
        help="ends dialogs after a crash",
    )
    add(
        "--mode",
        action="append",
        default=[],
        choices=["pipeline", "multimodal", "dualplex"],
        help="modes to carry (all)",
    )
    add("--account", type=int, action="append", default=[], help="only calls of these accounts")
    add("--trunk", type=int, action="append", default=[], help="only calls of these trunks")
    add("--type", action="append", default=[], choices=["outbound", "inbound", "web"], help="only calls of these types")
    add("--web-url", help="where a browser reaches the web leg; {worker} stands for the worker's number")
    add("--log-level", default="INFO", choices=["DEBUG", "INFO", "WARNING", "ERROR"])
    leg_options.add_options(run)
    return parser
