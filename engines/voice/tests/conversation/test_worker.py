"""The conversation as a worker runs it: by its name, on the legs of the worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from support.engines import engine_of
from support.fake_service import FakeService
from switchboard_engine import conversation
from switchboard_engine.client import Call
from switchboard_engine.conversation.warm_up import warm_up
from switchboard_engine.legs.registry import Legs
from switchboard_engine.plugs import DEFAULT_HANDLER, PlugError, load
from switchboard_engine.services import load_services

from .conftest import TIMING, WAIT_S, assistant
from .fakes import FakeServices
from .memory_line import MemoryArrival, MemoryLeg
from .script import ScriptedModel

made = FakeServices()


def services() -> FakeServices:
    """Return the services of these tests, as a factory does."""
    return made


@asynccontextmanager
async def factory(name: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    """Name the factory of services, as the environment does."""
    monkeypatch.setenv("SWITCHBOARD_ENGINE_SERVICES", name)
    load_services.cache_clear()
    yield
    load_services.cache_clear()


async def test_a_call_that_comes_in_is_carried(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    leg = MemoryLeg()
    service.assistant = assistant()
    arrival = MemoryArrival(leg, "+12025550001", "+12025550100")
    async with (
        factory(f"{__name__}:services", monkeypatch),
        ScriptedModel() as model,
        engine_of(service, timing=TIMING) as engine,
    ):
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        converse = load(DEFAULT_HANDLER)
        async with Legs(engine, converse, {"sip": leg}):
            leg.arrive(arrival)
            await service.until(lambda: any(call.of("transcript") for call in service.calls.values()))
            await made.customer.say("hello")
            await service.until(lambda: len(next(iter(service.calls.values())).of("transcript")) == 3)
            arrival.line.end()
            call = next(iter(service.calls.values()))
            await service.until(lambda: call.status == "ended_by_customer")
    assert arrival.rejected is None


async def test_a_call_without_legs_is_given_back(service: FakeService) -> None:
    service.offer(1)
    async with engine_of(service, timing=TIMING) as engine:
        call: Call = await anext(engine.calls())
        await asyncio.wait_for(conversation.converse(call), WAIT_S)
    assert service.calls[1].of("release")[0]["reason"] == "this engine runs no legs: name them with --leg"


async def test_a_factory_that_is_not_there_stops_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    async with factory("no.such:services", monkeypatch):
        with pytest.raises(PlugError, match="services cannot be loaded"):
            await conversation.converse.warm_up()


async def test_a_turn_is_held_with_nobody() -> None:
    await warm_up()
    await warm_up()
