"""A whole conversation: greeting, a turn, a tool, the end."""

from typing import Any

from .conftest import Scene, say
from .script import Say, call

LOOK_UP = {
    "name": "look_up",
    "description": "Looks up an order.",
    "kind": "tool",
    "timeout": 2,
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
}
END_CALL = {"name": "end_call", "description": "Ends the call.", "kind": "builtin", "parameters": {"type": "object"}}


async def test_a_conversation_from_the_greeting_to_the_end(scene: Scene) -> None:
    scene.service.tool_answer = (200, {"status": 200, "body": '{"state":"shipped"}', "duration_ms": 3})
    scene.model.rules = {
        "opening hours": Say("We open at nine."),
        "look up": call("look_up", question="my order"),
        "shipped": Say("It was shipped."),
        "goodbye": Say("Thank you for calling.", calls=(("end_call", {}),)),
    }
    line = await scene.answered(functions=[LOOK_UP, END_CALL])
    await scene.greeted()
    for phrase, count in (("what are your opening hours", 2), ("please look up my order", 3), ("thank you goodbye", 4)):
        await say(line, phrase)
        await scene.greeted(count)
    end = await scene.ended()
    events: list[dict[str, Any]] = scene.fake.events
    print(*events, sep="\n")
    assert scene.said("human") == ["what are your opening hours", "please look up my order", "thank you goodbye"]
    assert scene.said("bot") == [
        "Hello, this is Anna.",
        "We open at nine.",
        "It was shipped.",
        "Thank you for calling.",
    ]
    assert (end["type"], end["by"], end["reason"]) == ("ended", "assistant", "the assistant ended the call")
