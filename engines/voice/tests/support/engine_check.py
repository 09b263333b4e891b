"""`switchboard engine-check`, by which the service's program judges an engine."""

import asyncio
import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

BINARY = os.environ.get("SWITCHBOARD_BINARY")
needs_binary = pytest.mark.skipif(BINARY is None, reason="SWITCHBOARD_BINARY names the service's program")
AT_ONCE = 4
CHECK_SECONDS = 600.0


def case_names() -> list[str]:
    """Return the names of all cases."""
    listed = subprocess.run([_binary(), "engine-check", "--list"], capture_output=True, text=True, check=True)  # noqa: S603
    cases, _, _ = listed.stdout.partition("Rules:")
    return [line.split()[0] for line in cases.splitlines() if line.startswith("  ")]


async def check_engine(
    command: Sequence[str], environment: Mapping[str, str], *, cases: Sequence[str], at_once: int = AT_ONCE
) -> set[str]:
    """Play cases to the engine of a command; returns the rules that were seen to be kept, and fails for broken ones.

    Most of a case is waiting, so that some are played at once. Each has a service of its own: the check kills an engine
    after its case, and a worker that outlives its supervisor for a moment would claim the call of the next one.
    """
    places = asyncio.Semaphore(at_once)

    async def play(case: str) -> list[dict[str, Any]]:
        async with places:
            return await _check(command, {**os.environ, **environment}, case)

    rules = [rule for found in await asyncio.gather(*map(play, cases)) for rule in found]
    broken = [{rule["rule"]: rule["breaches"]} for rule in rules if rule["verdict"] == "fail"]
    assert not broken, json.dumps(broken, indent=2)
    return {rule["rule"] for rule in rules if rule["verdict"] == "pass"}


async def _check(command: Sequence[str], environment: Mapping[str, str], case: str) -> list[dict[str, Any]]:
    check = await asyncio.create_subprocess_exec(
        *(_binary(), "engine-check", "--json", "--call", "30", "--attach", "120", "--case", case, "--", *command),
        env=dict(environment),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        output, errors = await asyncio.wait_for(check.communicate(), CHECK_SECONDS)
    finally:
        if check.returncode is None:
            check.kill()
            await check.wait()
    assert output, errors.decode()[-2_000:]
    rules: list[dict[str, Any]] = json.loads(output)["rules"]
    assert (check.returncode == 0) == all(rule["verdict"] != "fail" for rule in rules)
    return rules


def _binary() -> str:
    binary = Path(BINARY or "")
    assert binary.is_file(), f"SWITCHBOARD_BINARY names no program: {binary}"
    return str(binary)
