"""Speech-to-speech models: multimodal, and dualplex with a voice of its own."""

import asyncio
from typing import Any

import pytest

from switchboard_engine.client.wire import Json
from switchboard_engine.services import ProviderError

from .conftest import Scene
from .fakes import FakeRealtime
from .script import Break, Say, Step

LONG = "One two three four five six seven eight nine ten eleven twelve."


def model(scene: Scene) -> FakeRealtime:
    """Return the model of the call."""
    made = scene.typed.made["realtime"]
    assert isinstance(made, FakeRealtime)
    return made


@pytest.mark.parametrize("mode", ["multimodal", "dualplex"])
async def test_a_model_that_hears_talks(typed: Scene, mode: str) -> None:
    line = await typed.begin(
        mode=mode,
        llm_model=None,
        multimodal_model={"id": 1, "code": "r", "engine": {"vendor": "fake"}},
        turn_detection_threshold=0.4,
        fillers=1,
        min_interrupt_words=2,
        chat_llm_fallback_id=3,
        wait_for_customer=True,
    )
    line.ring()
    model(typed).answers = ["Hello, this is Anna."]
    line.answer()
    await typed.greeted()
    await model(typed).hear("what time is it", "It is nine.")
    await typed.greeted(2)
    await typed.until(lambda: typed.said("human") == ["what time is it"])
    await model(typed).hear("count", LONG)
    await asyncio.sleep(0.8)
    line.end()
    end = await typed.ended()
    assert end["by"] == "customer"
    assert typed.said("bot")[:2] == ["Hello, this is Anna.", "It is nine."]
    cut = typed.said("bot")[2]
    assert LONG.startswith(cut)
    assert cut != LONG
    asked = typed.typed.asked["realtime"]
    assert (asked["mode"], asked["turn_detection_threshold"]) == (mode, 0.4)
    assert asked["system"].startswith("You answer the telephone of a shop.")
    assert typed.fake.of("unsupported")[0]["settings"] == [
        "min_interrupt_words",
        "chat_llm_fallback_id",
        "fillers",
        "wait_for_customer",
    ]


@pytest.mark.long
async def test_a_model_that_speaks_itself_is_told_what_to_say(typed: Scene) -> None:
    line = await typed.begin(mode="multimodal", multimodal_model={"id": 1, "code": "r", "engine": {"vendor": "fake"}})
    line.ring()
    line.answer()
    await typed.greeted()
    assert "Say exactly this now, and nothing else: Hello, this is Anna." in str(model(typed).contexts[0])
    typed.service.command(1, "say", text="The manager greets you.")
    await typed.greeted(2)
    assert "The manager greets you." in str(model(typed).contexts[1])


LOOK_UP = {
    "name": "look_up",
    "kind": "tool",
    "timeout": 2,
    "description": "Finds an order.",
    "parameters": {"type": "object", "properties": {"order": {"type": "string"}}, "required": ["order"]},
}
REFUSED = (422, {"message": "The field order is required."})
SHIPPED = (200, {"status": 200, "body": "shipped", "duration_ms": 3})


async def talking(scene: Scene, **members: Any) -> FakeRealtime:
    """Let a model that hears talk, which has a fallback."""
    line = await scene.begin(
        mode="multimodal",
        multimodal_model={"id": 1, "code": "r", "engine": {"vendor": "fake"}},
        functions=[LOOK_UP],
        chat_llm_fallback_id=3,
        **{"chat_llm_fallback": {"id": 3, "code": "c", "engine": {"model": "careful"}}, **members},
    )
    line.ring()
    line.answer()
    await scene.greeted()
    made = model(scene)
    await made.hear("where is my order A7", "One moment.")
    await scene.greeted(2)
    return made


async def answered(scene: Scene, answer: str) -> None:
    """Wait until the model has the answer of a function."""
    await scene.until(lambda: answer in str(model(scene).contexts[-1]))


async def test_the_fallback_mends_a_tool_call(typed: Scene) -> None:
    typed.service.tool_answer = REFUSED
    typed.model.rules = {"refused": Say('```json\n{"order": "A7"}\n```', pause_s=1.0)}
    made = await talking(typed)
    await made.call("look_up", {})
    await typed.until(lambda: len(typed.fake.tools) == 1)
    typed.service.tool_answer = SHIPPED
    await answered(typed, "shipped")
    assert typed.fake.tools == [("look_up", {}), ("look_up", {"order": "A7"})]
    assert typed.fake.of("unsupported") == []
    asked = typed.model.requests[0]
    assert asked["model"] == "careful"
    for known in ("Finds an order.", "The field order is required.", "user: where is my order A7", '"required"'):
        assert known in typed.model.last, known


@pytest.mark.parametrize("step", [Break(500), Say("I do not know."), Say("{}"), Say('{"order": '), Say("[1]")])
async def test_a_fallback_that_knows_no_better_leaves_the_refusal(typed: Scene, step: Step) -> None:
    typed.service.tool_answer = REFUSED
    typed.model.otherwise = step
    made = await talking(typed)
    await made.call("look_up", {"orders": 1})
    await answered(typed, "This did not work: The field order is required.")
    assert typed.fake.tools == [("look_up", {"orders": 1})]


async def test_a_tool_that_fails_otherwise_is_not_asked_again(typed: Scene) -> None:
    typed.service.tool_answer = (504, {"message": "The tool did not answer in time."})
    made = await talking(typed)
    await made.call("look_up", {})
    await answered(typed, "This did not work: The tool did not answer in time.")
    assert typed.model.requests == []


async def test_a_fallback_that_cannot_be_made_is_told(typed: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def llm(entry: Json | None, *, temperature: float | None, prompt: str) -> None:
        raise ProviderError(f"No key for {entry}, {temperature}, {prompt}.")

    monkeypatch.setattr(typed.services, "llm", llm)
    typed.service.tool_answer = REFUSED
    made = await talking(typed)
    assert typed.fake.of("unsupported")[0]["settings"] == ["chat_llm_fallback_id"]
    await made.call("look_up", {})
    await answered(typed, "This did not work: The field order is required.")
