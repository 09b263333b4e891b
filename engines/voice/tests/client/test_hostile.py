"""A whole engine against a service whose every answer may fail: calls run to their end and nothing is told twice."""

import asyncio
from random import Random

import pytest

from support.engines import answer, engine_of
from support.fake_service import FakeService, Fault
from switchboard_engine.client import Call, ToolError
from switchboard_engine.client.events import Cost, Transcript

# A claim whose answer is lost is a call that goes back to the queue by its lease: the fake keeps none of that.
HARMLESS_TO_CLAIMS = (Fault.BUSY, Fault.TOO_MANY, Fault.BROKEN, Fault.REDIRECT, Fault.DROP_BEFORE, Fault.SLOW)


async def converse(call: Call, random: Random) -> list[str]:
    """Hold a conversation, and return the lines that were said."""
    await answer(call)
    said = ["Hello Ada Park."]
    for number in range(random.randint(1, 12)):
        said.append(f"call {call.id}, line {number}")
        await call.report(Transcript("human" if number % 2 else "bot", said[-1]))
        if random.random() < 0.3:
            await asyncio.sleep(random.random() / 50)
        if random.random() < 0.3:
            try:
                await call.tool("look_up", {"n": number})
            except ToolError as error:
                assert error.status == 500
    await call.ended("customer")
    await call.report(Cost(0.01, 0.02))
    await call.flush()
    return said


@pytest.mark.parametrize("round_", range(6))
async def test_every_call_runs_to_its_end(service: FakeService, seed: int, round_: int) -> None:
    random = Random(seed + round_)
    share = random.choice([0.1, 0.4, 0.7])

    def plan(kind: str, _nth: int) -> Fault:
        if random.random() > share:
            return Fault.NONE
        return random.choice(HARMLESS_TO_CLAIMS if kind == "claim" else list(Fault))

    service.plan = plan
    calls = range(1, 16)
    service.offer(*calls)
    async with engine_of(service, capacity=15) as engine:
        talks = {}
        async for call in engine.calls():
            talks[call.id] = asyncio.create_task(converse(call, random))
            if len(talks) == len(calls):
                engine.drain()
        said = {call_id: await talk for call_id, talk in talks.items()}
        service.plan = lambda _kind, _nth: Fault.NONE
    for call_id in calls:
        kept = service.calls[call_id]
        assert [event["text"] for event in kept.of("transcript")] == said[call_id]
        assert [kind for kind in kept.types if kind != "transcript"] == [
            "dialing",
            "ringing",
            "answered",
            "ended",
            "cost",
        ]
        assert [event["seq"] for event in kept.events] == list(range(1, len(kept.events) + 1))
