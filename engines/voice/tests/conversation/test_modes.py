"""Speech-to-speech models: multimodal, and dualplex with a voice of its own."""

import asyncio

import pytest

from .conftest import Scene
from .fakes import FakeRealtime

LONG = "One two three four five six seven eight nine ten eleven twelve."


def model(scene: Scene) -> FakeRealtime:
    """Return the model of the call."""
    made = scene.typed.made["llm"]
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
