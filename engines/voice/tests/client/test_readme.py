"""The example in README.md runs as it stands there, and keeps the rules of the engine interface."""

import asyncio
import re
import sys
from pathlib import Path

from support.engine_check import case_names, check_engine, needs_binary
from support.fake_service import TOKEN, FakeService

README = Path(__file__).parents[2] / "README.md"


def write_example(folder: Path) -> Path:
    source = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    assert source is not None
    example = folder / "example.py"
    example.write_text(source[1])
    return example


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


@needs_binary
async def test_the_example_keeps_every_rule(tmp_path: Path) -> None:
    command = [sys.executable, str(write_example(tmp_path))]
    kept = await check_engine(command, {"PYTHONPATH": str(README.parent / "src")}, cases=case_names())
    assert kept >= {"states", "every-call-ends", "same-event", "tool-once", "hang-up-obeyed", "lost-left", "drain-ends"}
