"""An engine claims what it has room for, keeps its leases, carries commands, and stops in good order."""

import asyncio
import time
from dataclasses import replace

import pytest

from support.engines import QUICK, answer, engine_of, next_call, talking
from support.fake_service import FakeService, Fault
from switchboard_engine.client import (
    ClaimFilter,
    ConflictError,
    Engine,
    ForbiddenError,
    NotFoundError,
    ProtocolError,
    UnauthenticatedError,
)
from switchboard_engine.client.events import Answered, Dialing, Hold, Ringing, Transcript
from switchboard_engine.client.wire import Trunks


async def test_a_call_from_its_claim_to_its_end(service: FakeService) -> None:
    async with talking(service) as (engine, call):
        assert (call.info.client_phone_number, call.assistant.greeting) == ("+12025550001", "Hello Ada Park.")
        assert call.telephony is not None
        assert (call.telephony.dial, call.telephony.password) == ("0012025550001", "secret of the trunk")
        assert len(engine.running) == 1
        await call.ended("customer", "hung up")
        assert service.calls[1].status == "ended_by_customer"
        assert (len(engine.running), engine.pending_events, engine.delivered_events) == (0, 0, 5)
    assert service.calls[1].types == ["dialing", "ringing", "answered", "transcript", "ended"]


async def test_what_a_claim_and_a_heartbeat_say(service: FakeService) -> None:
    only = ClaimFilter(account_ids=[1], types=["outbound"])
    settings = {"modes": ["pipeline"], "legs": ["sip"], "only": only, "web_url": "https://e.example", "host": "h1"}
    async with engine_of(service, capacity=3, **settings):
        await service.until(lambda: len(service.of("claim")) > 0 and len(service.of("heartbeat")) > 1)
    assert service.of("claim")[0] == {
        "engine": "desk-1",
        "modes": ["pipeline"],
        "capacity": 3,
        "wait": 1,
        "protocol": 2,
        "filter": {"account_ids": [1], "types": ["outbound"]},
    }
    assert service.of("heartbeat")[0] == {
        "calls": [],
        "engine": "desk-1",
        "protocol": 2,
        "load": 0.0,
        "version": "0.1.0",
        "host": "h1",
        "capacity": 3,
        "running": 0,
        "legs": ["sip"],
        "web_url": "https://e.example",
    }


async def test_no_more_calls_are_claimed_than_there_is_room(service: FakeService) -> None:
    service.offer(*range(1, 6))
    async with engine_of(service, capacity=2, timing=replace(QUICK, claim_wait=10)) as engine:
        calls = [await next_call(engine), await next_call(engine)]
        await service.until(lambda: service.last("claim", "capacity") == 0)
        assert len(service.queue) == 3
        await answer(calls[0])
        await calls[0].ended("assistant")
        # The claim without room gives way at once to one that offers the room.
        started = time.monotonic()
        assert (await next_call(engine)).id == 3
        assert time.monotonic() - started < 8  # A claim that is not woken waits for 10 s.
        for call in engine.running:
            await call.release("the test is over")


@pytest.mark.parametrize("parks", [True, False])
async def test_a_command_reaches_a_full_engine(service: FakeService, parks: bool) -> None:
    service.parks_without_room = parks
    timing = replace(QUICK, claim_wait=10, heartbeat=10.0 if parks else 0.05)
    async with talking(service, capacity=1, timing=timing) as (_, call):
        await service.until(lambda: service.last("claim", "capacity") == 0)
        await asyncio.sleep(0.02)
        service.command(1, "hangup")
        started = time.monotonic()
        command = await anext(call.commands)
        assert command.type == "hangup"
        assert time.monotonic() - started < 8  # As above; with `parks` a heartbeat comes after 10 s, too.
        await call.done(command)
        await call.ended("assistant")
    assert service.calls[1].commands[0].result is not None


async def test_each_command_comes_once_although_it_is_repeated(service: FakeService) -> None:
    async with talking(service) as (_, call):
        service.command(1, "say", text="One moment.")
        service.command(1, "transfer", to="+12025550111")
        got = [await anext(call.commands), await anext(call.commands)]
        assert [(command.type, command.text, command.to) for command in got] == [
            ("say", "One moment.", None),
            ("transfer", None, "+12025550111"),
        ]
        # Answers, heartbeats and claims repeat both meanwhile.
        beats = len(service.of("heartbeat"))
        await service.until(lambda: len(service.of("heartbeat")) > beats + 2)
        await call.done(got[0])
        await call.refused(got[1], "There is no trunk for it.")
        await call.ended("assistant")
        assert [command async for command in call.commands] == []
    results = [command.result for command in service.calls[1].commands]
    assert [(result["status"], result.get("reason")) for result in results if result] == [
        ("done", None),
        ("refused", "There is no trunk for it."),
    ]


async def test_a_hang_up_reaches_the_call_at_every_moment(service: FakeService) -> None:
    moments = ["claimed", "dialing", "ringing", "answered", "talking"]
    service.offer(*range(1, len(moments) + 1))
    async with engine_of(service) as engine:
        for count, _ in enumerate(moments):
            call = await next_call(engine)
            for event in (Dialing(), Ringing(), Answered(), Transcript("bot", "Hello."))[:count]:
                await call.report(event)
            service.command(call.id, "hangup")
            command = await asyncio.wait_for(anext(call.commands), 10)
            await call.done(command)
            await call.ended("assistant", "hang-up by API")
            expected = "ended_by_assistant" if count >= 3 else "failed"
            assert service.calls[call.id].status == expected
            assert service.calls[call.id].commands[0].result is not None


async def test_heartbeats_keep_a_silent_call(service: FakeService) -> None:
    service.lease_seconds = 0.3
    async with talking(service) as (_, call):
        await asyncio.sleep(0.7)
        assert not call.lost.is_set()
        await call.ended("customer")
    assert service.calls[1].status == "ended_by_customer"


async def test_a_lease_is_renewed_by_the_last_heartbeat_that_was_answered(service: FakeService) -> None:
    service.lease_seconds = 0.4
    async with talking(service) as (_, call):
        await asyncio.sleep(0.5)
        service.plan = lambda kind, _nth: Fault.BUSY if kind == "heartbeat" else Fault.NONE
        await asyncio.sleep(0.15)
        assert not call.lost.is_set()
        service.plan = lambda _kind, _nth: Fault.NONE


@pytest.mark.parametrize("how", ["given away", "lease ran out", "ended by the service"])
async def test_a_call_that_is_lost_is_told_so(service: FakeService, how: str) -> None:
    async with talking(service) as (engine, call):
        if how == "given away":
            service.lost.add(1)
        elif how == "lease ran out":
            service.calls[1].lease_until = 0
        else:
            service.calls[1].end("ended")
            await call.report(Hold())
        await asyncio.wait_for(call.lost.wait(), 10)
        assert (call.is_over, len(engine.running)) == (True, 0)
        assert [command async for command in call.commands] == []
        await call.ended("assistant")
        assert "ended" not in service.calls[1].types


async def test_a_call_is_lost_when_the_service_cannot_be_reached(service: FakeService) -> None:
    service.lease_seconds = 0.3
    async with talking(service) as (_, call):
        service.plan = lambda _kind, _nth: Fault.DROP_BEFORE
        started = time.monotonic()
        await asyncio.wait_for(call.lost.wait(), 10)
        assert time.monotonic() - started > 0.2


async def test_a_call_that_is_handed_out_anew_is_another(service: FakeService) -> None:
    async with talking(service) as (engine, call):
        service.offer(1)
        again = await next_call(engine)
        assert again is not call
        assert (call.lost.is_set(), list(engine.running)) == (True, [again])
        await answer(again)
        await again.ended("customer")
    assert service.calls[1].types == ["dialing", "ringing", "answered", "transcript", "ended"]


async def test_draining_ends_the_claims_and_lets_calls_run(service: FakeService) -> None:
    async with talking(service) as (engine, call):
        waiting = asyncio.create_task(engine.drained())
        engine.drain()
        await service.until(lambda: service.last("claim", "capacity") == 0)
        service.offer(2)
        for _ in range(2):
            assert [claimed async for claimed in engine.calls()] == []
        await service.until(lambda: service.last("heartbeat", "capacity") == 0)
        service.command(1, "end", after="sentence")
        assert (await anext(call.commands)).after == "sentence"
        assert not waiting.done()
        await call.ended("assistant")
        await waiting
    assert len(service.queue) == 1


async def test_the_operator_drains_an_engine_and_lets_it_go_on(service: FakeService) -> None:
    async with engine_of(service) as engine:
        service.drain = True
        await service.until(lambda: service.last("claim", "capacity") == 0)
        assert engine.is_draining
        service.offer(1)
        await asyncio.sleep(0.1)
        assert len(service.queue) == 1
        service.drain = False
        assert (await next_call(engine)).id == 1


async def test_a_stopping_engine_gives_back_what_it_did_not_dial_and_fails_the_rest(service: FakeService) -> None:
    service.offer(1, 2)
    async with engine_of(service) as engine:
        await next_call(engine)
        await answer(await next_call(engine))
    assert service.calls[1].types == ["release"]
    assert service.calls[2].status == "failed"


async def test_a_stopping_engine_does_not_wait_for_ever(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard_engine.client.engine._STOP_SECONDS", 0.2)
    async with talking(service):
        service.plan = lambda _kind, _nth: Fault.BUSY
        started = time.monotonic()
    assert time.monotonic() - started < 20


async def test_an_old_service_is_named_as_such(service: FakeService) -> None:
    service.protocol = 1
    with pytest.raises(ProtocolError, match="speaks only edition 1 of the engine interface"):
        async with engine_of(service):
            pass


async def test_a_wrong_token_is_refused_at_once(service: FakeService) -> None:
    with pytest.raises(UnauthenticatedError):
        async with Engine(service.url, "another", name="e", timing=QUICK):
            pass


async def test_a_token_that_was_revoked_ends_the_calls(service: FakeService) -> None:
    async with engine_of(service) as engine:
        service.is_token_valid = False
        with pytest.raises(UnauthenticatedError):
            await next_call(engine)


async def test_an_engine_waits_for_a_service_that_comes_up(service: FakeService) -> None:
    service.plan = lambda _kind, nth: Fault.DROP_BEFORE if nth < 4 else Fault.NONE
    async with engine_of(service) as engine:
        assert engine.info is not None
        assert engine.info.release == "test"


async def test_an_inbound_call_is_brought_once(service: FakeService) -> None:
    async with engine_of(service) as engine:
        call = await engine.inbound("+12025550001", "+12025550100", external_id="a@b", trunk_id=4)
        again = await engine.inbound("+12025550001", "+12025550100", external_id="a@b", trunk_id=4)
        assert call is again
        assert service.of("calls")[0] == {
            "type": "inbound",
            "from": "+12025550001",
            "to": "+12025550100",
            "external_id": "a@b",
            "trunk_id": 4,
        }
        await answer(call)
        await call.ended("customer")
        with pytest.raises(ConflictError):
            await engine.inbound("+12025550001", "+12025550100", external_id="a@b")


@pytest.mark.parametrize("fault", [Fault.DROP_AFTER, Fault.TRUNCATED, Fault.BUSY, Fault.APPLY_LATE])
async def test_bringing_a_call_survives_a_lost_answer(service: FakeService, fault: Fault) -> None:
    service.plan = lambda kind, nth: fault if (kind, nth) == ("calls", 1) else Fault.NONE
    async with engine_of(service) as engine:
        call = await engine.inbound(None, "+12025550100", external_id="c@d")
        await answer(call)
        await call.ended("customer")
    assert service.calls[call.id].status == "ended_by_customer"
    assert len(service.calls) == 1


async def test_what_is_wrong_with_an_inbound_call(service: FakeService) -> None:
    async with engine_of(service) as engine:
        with pytest.raises(NotFoundError, match="Number not found"):
            await engine.inbound(None, "+19995550100")
        with pytest.raises(ForbiddenError, match="not on that trunk"):
            await engine.inbound(None, "+12025550100", trunk_id=5)


@pytest.mark.parametrize("fault", [Fault.NONE, Fault.DROP_AFTER, Fault.TRUNCATED])
async def test_a_web_call_is_brought_once(service: FakeService, fault: Fault) -> None:
    service.plan = lambda kind, nth: fault if (kind, nth) == ("calls", 1) else Fault.NONE
    async with engine_of(service) as engine:
        call = await engine.web(token="shown by the browser")
        assert call.info.type == "web"
        assert service.of("calls")[0] == {"type": "web", "token": "shown by the browser"}
        assert len(service.calls) == 1


async def test_trunks_come_whenever_they_change(service: FakeService) -> None:
    service.trunks = [{"kind": "sip", "trunk_id": 4, "address": "sip.example", "username": "u", "password": "p"}]
    async with engine_of(service) as engine:
        versions = engine.trunks()
        first = await anext(versions)
        assert isinstance(first, Trunks)
        assert (first.version, first.trunks[0].address, first.trunks[0].username) == (1, "sip.example", "u")
        assert "password='p'" not in repr(first)
        service.trunks, service.trunk_version = [], 2
        service.wake()
        assert await asyncio.wait_for(anext(versions), 10) == Trunks(2, ())


async def test_an_engine_claims_on_through_every_fault(service: FakeService) -> None:
    harmful = (Fault.NONE, Fault.DROP_AFTER, Fault.DROP_DURING, Fault.APPLY_LATE, Fault.TRUNCATED)
    faults = [fault for fault in Fault if fault not in harmful]
    service.plan = lambda kind, nth: (
        faults[nth % len(faults)] if kind in ("claim", "heartbeat") and nth < 20 else (Fault.NONE)
    )
    service.offer(*range(1, 8))
    async with engine_of(service, capacity=10) as engine:
        assert [(await next_call(engine)).id for _ in range(7)] == list(range(1, 8))
