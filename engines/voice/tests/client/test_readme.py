"""The example in README.md runs as it stands there, and keeps the rules of the engine interface."""

import asyncio
import json
import os
import re
import sys
from pathlib import Path

import pytest

from support.fake_service import TOKEN, FakeService

README = Path(__file__).parents[2] / "README.md"
BINARY = os.environ.get("SWITCHBOARD_BINARY")
CHECK_SECONDS = 600.0


def write_example(folder: Path) -> Path:
    source = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert source is not None
    example = folder / "example.py"
    example.write_text(source[1])
    return example


def find_binary() -> str:
    binary = Path(BINARY or "")
    assert binary.is_file(), f"SWITCHBOARD_BINARY names no program: {binary}"
    return str(binary)


async def test_the_example_carries_a_call(service: FakeService, tmp_path: Path) -> None:
    example = write_example(tmp_path)
    service.offer(1)
    service.tool_answer = (200, {"status": 200, "body": "At nine.", "duration_ms": 3})
    environment = {
        "SWITCHBOARD_URL": service.url,
        "SWITCHBOARD_ENGINE_TOKEN": TOKEN,
        "PYTHONPATH": str(README.parent / "src"),
    }
    engine = await asyncio.create_subprocess_exec(sys.executable, str(example), env=environment)
    await service.until(lambda: 1 in service.calls and not service.calls[1].is_running)
    engine.kill()
    await engine.wait()
    assert [event["text"] for event in service.calls[1].of("transcript")] == [
        "Hello Ada Park.",
        "When do you open?",
        "At nine.",
    ]
    assert service.calls[1].status == "ended_by_customer"


@pytest.mark.skipif(BINARY is None, reason="SWITCHBOARD_BINARY names the service's program")
async def test_the_example_keeps_every_rule(tmp_path: Path) -> None:
    command = [find_binary(), "engine-check", "--json", "--call", "20", "--", sys.executable]
    command.append(str(write_example(tmp_path)))
    environment = {**os.environ, "PYTHONPATH": str(README.parent / "src")}
    check = await asyncio.create_subprocess_exec(
        *command, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    try:
        output, errors = await asyncio.wait_for(check.communicate(), CHECK_SECONDS)
    finally:
        if check.returncode is None:
            check.kill()
            await check.wait()
    assert output, errors.decode()[-2_000:]
    rules = json.loads(output)["rules"]
    broken = {rule["rule"]: rule["breaches"] for rule in rules if rule["verdict"] == "fail"}
    assert not broken, json.dumps(broken, indent=2)
    assert sum(rule["verdict"] == "pass" for rule in rules) > len(rules) / 2
    assert check.returncode == 0
