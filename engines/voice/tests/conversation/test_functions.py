"""The functions that the engine carries out itself, and the commands of the service."""

import asyncio
from typing import Any

import pytest

from switchboard_engine.legs import Outcome

from .conftest import Scene
from .script import Say, call


def built_in(name: str, **properties: Any) -> dict[str, Any]:
    """Return a built-in function as the service compiles it."""
    return {"name": name, "kind": "builtin", "parameters": {"type": "object", "properties": properties}}


@pytest.mark.long
async def test_a_call_is_ended_with_a_goodbye(typed: Scene) -> None:
    typed.model.rules = {"bye": call("end_call")}
    line = await typed.answered(functions=[built_in("end_call")])
    await typed.greeted()
    await typed.tell("bye")
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("assistant", "the assistant ended the call")
    # The model said nothing itself.
    assert typed.said("bot")[-1] == "Goodbye."
    assert line.ended is not None
    assert line.ended.by == "assistant"


@pytest.mark.parametrize("status", ["accepted", "486 Busy Here"])
async def test_a_cold_transfer(typed: Scene, status: str) -> None:
    typed.leg.transfer_status = status
    typed.model.rules = {"failed": Say("They are busy."), "person": Say("I connect you.", (("call_transfer", {}),))}
    tool = {"type": "call_transfer", "phone_number": "+12025550199", "custom": False, "warm_transfer": False}
    line = await typed.answered(functions=[built_in("call_transfer")], tools=[tool])
    await typed.greeted()
    await typed.tell("a person please")
    if status == "accepted":
        end = await typed.ended()
        assert (end["by"], end["reason"]) == ("assistant", "transferred to +12025550199")
    else:
        await typed.until(lambda: "They are busy." in typed.said("bot"))
    assert line.transfers == [("+12025550199", "blind", None)]
    assert [(event["status"], event["mode"]) for event in typed.fake.of("transfer")] == [
        ("started", "blind"),
        ("accepted" if status == "accepted" else "failed", "blind"),
    ]
    # What was being said was said first.
    kinds = [event["type"] for event in typed.fake.events]
    assert kinds.index("transfer") > kinds.index("transcript", kinds.index("transcript") + 2)


@pytest.mark.long
async def test_the_model_chooses_the_number_where_it_may(typed: Scene) -> None:
    typed.model.rules = {"sales": call("call_transfer", phone_number="+12025550142")}
    tool = {"type": "call_transfer", "phone_number": "any", "custom": True}
    line = await typed.answered(functions=[built_in("call_transfer")], tools=[tool])
    await typed.greeted()
    await typed.tell("sales")
    await typed.ended()
    assert line.transfers[0][0] == "+12025550142"


async def test_a_warm_transfer(typed: Scene) -> None:
    typed.model.rules = {"user: a person": Say("They want a person."), "person": call("warm_call_transfer")}
    tool = {
        "type": "warm_call_transfer",
        "supervisor_phone": "+12025550188",
        "hold_message": "Please hold.",
        "briefing_initial_message": "A customer.",
        "hold_music": "hold_music",
        "hold_music_volume": 80,
        "connected_message": "You are connected.",
    }
    line = await typed.answered(functions=[built_in("warm_call_transfer")], tools=[tool])
    await typed.greeted()
    await typed.tell("a person please")
    consultation = await typed.dialed()
    assert consultation.to == "+12025550188"
    await typed.until(lambda: "Please hold." in typed.said("bot"))
    music = len(line.audio.heard)
    await asyncio.sleep(0.5)
    assert line.audio.first_sound(line.audio.heard[music - 1][0]) is not None
    consultation.answer()
    end = await typed.ended()
    assert end["reason"] == "transferred to +12025550188"
    assert line.transfers == [("+12025550188", "warm", consultation)]
    assert typed.typed.made["voices"][1].said == ["A customer. They want a person."]
    assert consultation.ended is not None
    assert typed.fake.of("unsupported")[0]["settings"] == ["tools.warm_call_transfer.connected_message"]


@pytest.mark.long
async def test_a_warm_transfer_that_nobody_takes(typed: Scene) -> None:
    typed.model.rules = {"failed": Say("Nobody is there."), "person": call("call_transfer")}
    tool = {
        "type": "call_transfer",
        "phone_number": "+12025550199",
        "warm_transfer": True,
        "warm_transfer_message": "Hi.",
    }
    line = await typed.answered(functions=[built_in("call_transfer")], tools=[tool])
    await typed.greeted()
    await typed.tell("a person please")
    consultation = await typed.dialed()
    consultation.end("customer", Outcome.BUSY)
    await typed.until(lambda: "Nobody is there." in typed.said("bot"))
    assert line.transfers == []
    assert line.ended is None


@pytest.mark.long
async def test_keys_go_out_and_come_in(typed: Scene) -> None:
    typed.model.rules = {
        "typed 4711": Say("Thank you."),
        "typed nothing": Say("Nothing came."),
        "pressed these keys: 99": Say("Ninety nine."),
        "menu": call("dtmf_input", digits="1#"),
        "wrong": call("dtmf_input", digits="x"),
        "not work": Say("That is no key."),
        "pressed": Say("Done."),
        "number": Say("Type it.", (("collect_keypad", {}),)),
    }
    functions = [built_in("dtmf_input"), built_in("collect_keypad")]
    line = await typed.answered(functions=functions, tools=[{"type": "collect_keypad", "timeout": 1, "stop_key": "*"}])
    await typed.greeted()
    await typed.tell("menu")
    await typed.until(lambda: "Done." in typed.said("bot"))
    assert line.keys == ["1#"]
    await typed.tell("wrong")
    await typed.until(lambda: "That is no key." in typed.said("bot"))
    await typed.tell("my number")
    await typed.until(lambda: "Type it." in typed.said("bot"))
    line.press("4711*")
    await typed.until(lambda: "Thank you." in typed.said("bot"))
    line.press("99")
    await typed.until(lambda: "Ninety nine." in typed.said("bot"))
    pressed = [(event["digits"], event["by"]) for event in typed.fake.of("dtmf")]
    assert pressed == [("1#", "assistant"), *((key, "customer") for key in "4711*99")]


async def test_commands_are_carried_out(typed: Scene) -> None:
    line = await typed.answered()
    await typed.greeted()
    for kind, members in (
        ("say", {"text": "The manager greets you."}),
        ("context", {"text": "The customer is very important."}),
        ("dtmf", {"digits": "12"}),
        ("hold", {}),
    ):
        typed.service.command(1, kind, **members)
    await typed.until(lambda: len(typed.fake.of("command")) == 4)
    assert line.held
    typed.service.command(1, "resume")
    await typed.until(lambda: "The manager greets you." in typed.said("bot") and len(typed.fake.of("command")) == 5)
    assert not line.held
    assert line.keys == ["12"]
    await typed.tell("hello")
    await typed.greeted(3)
    assert "The customer is very important." in str(typed.model.requests[-1]["messages"])
    typed.leg.transfer_status = "486 Busy Here"
    typed.service.command(1, "transfer", to="+12025550177")
    typed.service.command(1, "dance")
    typed.service.command(1, "say")
    await typed.until(lambda: len(typed.fake.of("command")) == 8)
    refused = {event["id"]: event.get("reason") for event in typed.fake.of("command") if event["status"] == "refused"}
    assert refused == {
        6: "486 Busy Here",
        7: "This engine cannot dance.",
        8: "There is nothing to say: `text` is empty.",
    }
    assert [event["type"] for event in typed.fake.events if event["type"] in ("hold", "resume")] == ["hold", "resume"]
    typed.service.command(1, "hangup")
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("engine", "hangup")


@pytest.mark.long
async def test_a_hang_up_waits_for_the_sentence_where_it_is_asked_to(typed: Scene) -> None:
    typed.model.otherwise = Say("One two three four five six seven eight nine ten.")
    line = await typed.answered()
    await typed.greeted()
    await typed.tell("count")
    await typed.until(lambda: len(typed.typed.tone.said) == 2)
    typed.service.command(1, "end", after="sentence")
    await typed.until(lambda: len(typed.fake.of("command")) == 1)
    assert line.ended is None
    await typed.ended()
    assert typed.said("bot")[-1] == "One two three four five six seven eight nine ten."


@pytest.mark.long
async def test_what_a_function_answers_is_cut_where_it_is_long(typed: Scene) -> None:
    tool = {"name": "look_up", "kind": "tool", "timeout": 2, "parameters": {"type": "object"}}
    typed.service.tool_answer = (200, {"status": 200, "body": "shipped " * 5_000, "duration_ms": 3})
    typed.model.rules = {"cut here": Say("It is long."), "order": call("look_up")}
    await typed.answered(functions=[tool])
    await typed.greeted()
    await typed.tell("my order")
    await typed.until(lambda: "It is long." in typed.said("bot"))
    assert len(str(typed.model.requests[-1]["messages"])) < 10_000


@pytest.mark.long
async def test_an_assistant_cannot_hand_over_to_another(typed: Scene) -> None:
    functions = [built_in("assistant_transfer"), built_in("end_call")]
    await typed.answered(functions=functions, tools=[{"type": "assistant_transfer", "assistant_id": 3}])
    await typed.greeted()
    await typed.tell("hello")
    await typed.greeted(2)
    offered = [tool["function"]["name"] for tool in typed.model.requests[0]["tools"]]
    assert offered == ["end_call"]
    assert typed.fake.of("unsupported")[0]["settings"] == ["tools.assistant_transfer"]
