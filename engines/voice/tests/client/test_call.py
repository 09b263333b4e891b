"""A call asks tools and knowledge, uploads its recording, and ends, whatever happens to its requests."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.engines import QUICK, answer, engine_of, next_call, talking
from support.fake_call import Answer
from support.fake_service import FakeService, Fault
from switchboard_engine.client import CallLostError, ForbiddenError, ServiceError, ToolError
from switchboard_engine.client.events import (
    Answered,
    Cost,
    Dialing,
    Ended,
    Event,
    Failed,
    Hold,
    Quality,
    Ringing,
    Transcript,
    Usage,
)

OK: dict[str, Any] = {"status": 201, "body": "made", "duration_ms": 12}


async def test_a_tool_follows_the_events_that_led_to_it(service: FakeService) -> None:
    service.tool_answer = (200, OK)
    async with talking(service) as (_, call):
        before = len(service.of("events"))
        await call.report(Transcript("human", "Look it up, please."))
        got = await call.tool("look_up", {"ticket": 41, "list": [1, None]})
        assert (got.status, got.body, got.duration_ms) == (201, "made", 12)
        assert service.calls[1].tools == [("look_up", {"ticket": 41, "list": [1, None]})]
        # One round trip: the line travelled with the tool.
        assert [event["text"] for event in service.of("tools")[0]["events"]] == ["Look it up, please."]
        assert len(service.of("events")) == before
        await call.ended("customer")
    assert service.calls[1].types[-2:] == ["transcript", "ended"]


@pytest.mark.parametrize(
    ("tool_answer", "status", "message"),
    [
        ((422, {"message": "The ticket must be a number."}), 422, "The ticket must be a number."),
        ((502, {"message": "The tool did not answer."}), 502, "The tool did not answer."),
        ((504, {"message": "The tool took too long."}), 504, "The tool took too long."),
        ((404, {"message": "Tool not found"}), 404, "There is no tool look_up."),
        ((403, {"message": "Not with this token."}), 403, "Not with this token."),
        ((418, {"message": "?"}), 418, "The tool could not be asked."),
    ],
)
async def test_a_refused_tool_is_a_sentence_for_the_model(
    service: FakeService, tool_answer: Answer, status: int, message: str
) -> None:
    service.tool_answer = tool_answer
    async with talking(service) as (_, call):
        await call.report(Transcript("human", "Look it up, please."))
        with pytest.raises(ToolError) as refusal:
            await call.tool("look_up", {})
        assert (refusal.value.status, refusal.value.message) == (status, message)
        await call.ended("customer")
    # The events were taken all the same, once.
    assert service.calls[1].types[3:] == ["transcript", "transcript", "ended"]


@pytest.mark.parametrize("fault", [fault for fault in Fault if fault not in (Fault.BROKEN, Fault.NONE)])
async def test_a_tool_is_asked_once_whatever_becomes_of_the_answer(service: FakeService, fault: Fault) -> None:
    service.tool_answer = (200, OK)
    service.tool_seconds = 0.05
    service.plan = lambda kind, nth: fault if (kind, nth) == ("tools", 1) else Fault.NONE
    async with talking(service) as (_, call):
        await call.report(Transcript("human", "Look it up, please."))
        assert (await call.tool("look_up", {"n": 1})).status == 201
        await call.ended("customer")
    assert service.calls[1].tools == [("look_up", {"n": 1})]
    assert service.calls[1].types[3:] == ["transcript", "transcript", "ended"]


async def test_a_tool_that_may_have_run_is_not_asked_again_after_an_internal_error(service: FakeService) -> None:
    service.plan = lambda kind, _nth: Fault.BROKEN if kind == "tools" else Fault.NONE
    async with talking(service) as (_, call):
        with pytest.raises(ToolError) as refusal:
            await call.tool("look_up", {})
        assert refusal.value.status == 500
        assert sum(kind == "tools" for kind, _ in service.requests) == 0


async def test_a_tool_gives_up_in_time(service: FakeService) -> None:
    service.plan = lambda kind, _nth: Fault.DROP_BEFORE if kind == "tools" else Fault.NONE
    service.offer(1)
    service.queue[0]["assistant"]["functions"][0]["timeout"] = 0.2
    async with engine_of(service, timing=replace(QUICK, answer=0.2)) as engine:
        call = await next_call(engine)
        with pytest.raises(ToolError, match="could not be reached in time"):
            async with asyncio.timeout(2):
                await call.tool("look_up", {})


@pytest.mark.parametrize("wrong", [[Ringing()], [Transcript("bot", "")], [Ringing(), Transcript("bot", "")]])
async def test_a_refused_event_does_not_take_the_tool_along(service: FakeService, wrong: list[Event]) -> None:
    service.tool_answer = (200, OK)
    async with talking(service) as (_, call):
        for event in wrong:
            await call.report(event)
        await call.report(Transcript("human", "Look it up, please."))
        assert (await call.tool("look_up", {})).status == 201
        await call.ended("customer")
    assert len(service.calls[1].tools) == 1
    assert service.calls[1].types[3:] == ["transcript", *["skipped"] * len(wrong), "transcript", "ended"]


async def test_more_events_than_a_request_takes_go_before_the_tool(service: FakeService) -> None:
    service.tool_answer = (200, OK)
    async with talking(service) as (_, call):
        for number in range(250):
            await call.report(Transcript("bot", f"line {number}"))
        await call.tool("look_up", {})
        await call.ended("customer")
    texts = [event["text"] for event in service.calls[1].of("transcript")]
    assert texts[1:] == [f"line {number}" for number in range(250)]


async def test_the_end_is_not_held_up_by_a_tool(service: FakeService) -> None:
    service.tool_answer = (200, OK)
    service.tool_seconds = 1.5
    async with talking(service) as (_, call):
        await call.report(Transcript("human", "Look it up, please."))
        tool = asyncio.create_task(call.tool("look_up", {}))
        await asyncio.sleep(0.05)
        async with asyncio.timeout(1.2):
            await call.ended("customer")
        assert service.calls[1].status == "ended_by_customer"
        await tool


async def test_tools_side_by_side(service: FakeService) -> None:
    service.tool_answer = (200, OK)
    service.tool_seconds = 0.05
    async with talking(service) as (_, call):
        await call.report(Transcript("human", "Both, please."))
        tools = [asyncio.create_task(call.tool("look_up", {"n": number})) for number in range(4)]
        passages = await call.knowledge("opening hours", 2)
        assert [passage.text for passage in passages] == ["We open at nine."] * 2
        await asyncio.gather(*tools)
        await call.ended("customer")
    assert len(service.calls[1].tools) == 4
    assert service.calls[1].types[3:] == ["transcript", "transcript", "ended"]


@pytest.mark.parametrize("fault", [Fault.DROP_AFTER, Fault.BUSY, Fault.TRUNCATED, Fault.BROKEN])
async def test_knowledge_survives_a_lost_answer(service: FakeService, fault: Fault) -> None:
    service.plan = lambda kind, nth: fault if (kind, nth) == ("knowledge", 1) else Fault.NONE
    async with talking(service) as (_, call):
        passages = await call.knowledge("opening hours")
        assert (len(passages), passages[0].document_name, passages[0].score) == (5, "hours", 0.5)


async def test_a_call_that_is_over_asks_nothing(service: FakeService) -> None:
    async with talking(service) as (_, call):
        await call.ended("customer")
        for asked in (call.tool("look_up", {}), call.knowledge("hours")):
            with pytest.raises(CallLostError):
                await asked


async def test_arguments_that_are_no_json(service: FakeService) -> None:
    async with talking(service) as (_, call):
        with pytest.raises(ValueError, match="JSON"):
            await call.tool("look_up", {"n": float("inf")})


@pytest.mark.parametrize("size", [1, 3_000_000])
async def test_a_recording_is_uploaded_after_the_end(service: FakeService, tmp_path: Path, size: int) -> None:
    file = tmp_path / "call.ogg"
    file.write_bytes(bytes(range(256)) * (size // 256) + b"x" * (size % 256))
    async with talking(service) as (_, call):
        await call.ended("customer")
        url = await call.upload(file, "audio/ogg")
        assert url == f"{service.url}/recordings/1"
    assert service.calls[1].recording == file.read_bytes()


@pytest.mark.parametrize("fault", [Fault.DROP_BEFORE, Fault.DROP_AFTER, Fault.BUSY, Fault.TRUNCATED])
async def test_a_broken_upload_begins_again(service: FakeService, tmp_path: Path, fault: Fault) -> None:
    service.plan = lambda kind, nth: fault if (kind, nth) == ("recording", 1) else Fault.NONE
    file = tmp_path / "call.wav"
    file.write_bytes(b"x" * 600_000)
    async with talking(service) as (_, call):
        await call.upload(file, "audio/wav")
    assert service.calls[1].recording == file.read_bytes()


async def test_what_is_no_recording(service: FakeService, tmp_path: Path) -> None:
    file = tmp_path / "call.wav"
    file.write_bytes(b"")
    async with talking(service) as (_, call):
        with pytest.raises(ValueError, match="0 bytes"):
            await call.upload(file, "audio/wav")
        file.write_bytes(b"x")
        with pytest.raises(ValueError, match="video/mp4"):
            await call.upload(file, "video/mp4")
        service.calls[1].entry["assistant"]["record"] = False
        with pytest.raises(ForbiddenError):
            await call.upload(file, "audio/wav")


@pytest.mark.parametrize(
    ("before", "by", "reason", "status", "last"),
    [
        ([Dialing(), Ringing(), Answered()], "customer", None, "ended_by_customer", "ended"),
        ([Dialing(), Answered()], "assistant", "r" * 999, "ended_by_assistant", "ended"),
        ([Answered()], "carrier", "  ", "ended", "ended"),
        ([Dialing(), Ringing()], "customer", "cancelled", "failed", "failed"),
        ([Dialing(), Ringing()], "customer", "no-answer", "no-answer", "failed"),
        ([], "customer", None, "failed", "failed"),
    ],
)
async def test_the_end_fits_the_state(
    service: FakeService, before: list[Event], by: str, reason: str | None, status: str, last: str
) -> None:
    service.offer(1)
    async with engine_of(service) as engine:
        call = await next_call(engine)
        for event in before:
            await call.report(event)
        await call.ended(by, reason)
        assert (service.calls[1].status, service.calls[1].types[-1]) == (status, last)
        assert len(service.calls[1].events[-1].get("reason", "")) <= 255


async def test_what_may_follow_the_end(service: FakeService) -> None:
    async with talking(service) as (_, call):
        await call.ended("customer")
        for event in (Hold(), Usage(stt_seconds=1.5), Quality(mos=4.1), Cost(0.01, 0.02), Transcript("bot", "late")):
            await call.report(event)
        await call.failed("a second end is none")
        await call.flush()
    assert service.calls[1].types[4:] == ["ended", "usage", "quality", "cost", "transcript"]


async def test_nothing_is_sent_behind_the_end(service: FakeService) -> None:
    async with talking(service) as (_, call):
        await call.report(Ended("customer"))
        await call.report(Hold())
        await call.report(Failed("busy"))
        await call.report(Cost(0, 0))
        await call.flush()
    sent = [event["type"] for body in service.of("events") for event in body["events"]]
    assert sent[4:] == ["ended", "cost"]


async def test_a_call_can_be_given_back_until_it_is_dialed(service: FakeService) -> None:
    service.offer(1, 2)
    async with engine_of(service) as engine:
        first, second = await next_call(engine), await next_call(engine)
        await first.release("no such trunk here")
        await second.report(Dialing())
        await second.release("no such trunk here")
    assert service.calls[1].events[0]["reason"] == "no such trunk here"
    assert (service.calls[1].types, service.calls[2].types) == (["release"], ["dialing", "failed"])


async def test_a_call_that_another_process_began_goes_on_with_its_numbers(service: FakeService) -> None:
    service.offer(1)
    service.queue[0]["next_seq"] = 5
    async with engine_of(service) as engine:
        call = await next_call(engine)
        service.calls[1].held = 4
        await answer(call)
        await call.ended("customer")
    assert [event["seq"] for event in service.calls[1].events] == [5, 6, 7, 8, 9]


async def test_errors_of_knowledge_are_the_services(service: FakeService) -> None:
    service.plan = lambda kind, _nth: Fault.TOO_MANY if kind == "knowledge" else Fault.NONE
    async with talking(service) as (_, call):
        with pytest.raises(ServiceError) as refusal:
            await call.knowledge("hours")
        assert refusal.value.status == 429
