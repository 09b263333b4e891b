"""The voice engine, from its supervisor to its conversation, keeps the rules of the engine interface."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from conversation.script import Say, ScriptedModel
from support.engine_check import case_names, check_engine, needs_binary

ROOT = Path(__file__).parents[2]
QUESTION = {"question": "opening hours"}
COMMAND = (
    *(sys.executable, "-m", "switchboard_engine", "run", "--url", "{url}", "--token", "{token}", "--name", "desk"),
    *("--workers", "1", "--health", "127.0.0.1:0", "--drain-seconds", "30", "--services", "support.checked:services"),
    *("--handler", "support.checked:converse", "--leg", "sip=support.checked:leg"),
)


async def kept(cases: Sequence[str]) -> set[str]:
    """Return the rules that the engine was seen to keep in some cases."""
    look_up = Say(calls=(("look_up", QUESTION), ("unreachable", QUESTION)))
    async with ScriptedModel({"look it up": look_up}) as model:
        environment = {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'tests'}", "OPENAI_BASE_URL": model.url}
        return await check_engine(COMMAND, environment, cases=cases, at_once=2)


@needs_binary
async def test_the_engine_keeps_the_rules_of_a_call() -> None:
    rules = await kept(["plain", "tool-lost", "hang-up-ringing", "drain"])
    assert rules >= {"states", "every-call-ends", "tool-once", "hang-up-obeyed", "command-ends", "drain-ends"}


@needs_binary
@pytest.mark.long
async def test_the_engine_keeps_every_rule() -> None:
    rules = await kept(case_names())
    assert rules >= {"outlives", "lost-left", "command-once", "tolerates", "calls-apart", "capacity", "retry-after"}
