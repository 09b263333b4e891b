"""The legs of a worker: what comes in is brought to the service and carried, what goes out finds its leg."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass, field
from typing import Any

import pytest

from support.engines import answer, engine_of
from support.fake_service import FakeService
from switchboard_engine.client import Call, CheckStep, TrunkReport
from switchboard_engine.client import Telephony as ClaimedTelephony
from switchboard_engine.legs import Arrival, Leg, LegError, Line, Telephony, TrunkState, TrunkStatus
from switchboard_engine.legs.registry import Legs, legs_of
from switchboard_engine.legs.settings import SipSettings
from switchboard_engine.legs.sip import check as sip_check
from switchboard_engine.settings import WorkerSettings

WAIT_S = 5.0


@dataclass
class FakeLine:
    """A line of which only the end is of interest."""

    external_id: str = "line"
    is_over: bool = False

    async def hangup(self) -> None:
        self.is_over = True


@dataclass
class FakeArrival:
    """A call to us."""

    external_id: str
    to: str = "+12025550100"
    from_: str = "+12025550001"
    trunk_id: str = "4"
    token: str = ""
    line: FakeLine = field(default_factory=FakeLine)
    refused: "asyncio.Queue[int]" = field(default_factory=asyncio.Queue)

    async def reject(self, status: int = 486) -> None:
        self.refused.put_nowait(status)


class FakeLeg:
    """A leg whose arrivals and trunks a test sees."""

    def __init__(self) -> None:
        self.arrivals: asyncio.Queue[Any] = asyncio.Queue()
        self.trunks: tuple[Telephony, ...] = ()
        self.dialed: list[tuple[str, str, float]] = []
        self.state = "new"
        self.refused = {"address": 2}

    async def start(self) -> None:
        self.state = "started"

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        self.trunks = tuple(trunks)

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = 60.0) -> Line:
        self.dialed.append((telephony.trunk_id, to, ring_timeout_s))
        line: Any = FakeLine()
        return line  # type: ignore[no-any-return]

    async def incoming(self) -> AsyncIterator[Arrival]:
        while True:
            arrival = await self.arrivals.get()
            if isinstance(arrival, Exception):
                raise arrival
            yield arrival

    async def stop(self) -> None:
        self.state = "stopped"


class Handler:
    """Carries calls until they are let go."""

    def __init__(self) -> None:
        self.carried: asyncio.Queue[tuple[Call, Arrival | None]] = asyncio.Queue()
        self.done = asyncio.Event()

    async def __call__(self, call: Call) -> None:
        self.carried.put_nowait((call, Legs.current().arrival_of(call.id)))
        await answer(call)
        await self.done.wait()
        await call.ended("customer")


def leg_of(fake: FakeLeg) -> Leg:
    """Return the fake as what it stands for."""
    leg: Any = fake
    return leg  # type: ignore[no-any-return]


async def refusal(arrival: FakeArrival) -> int:
    """Return how it was refused."""
    return await asyncio.wait_for(arrival.refused.get(), WAIT_S)


async def test_an_arrival_is_brought_carried_and_hung_up(service: FakeService) -> None:
    leg, handler, arrival = FakeLeg(), Handler(), FakeArrival("a1")
    async with engine_of(service) as engine, Legs(engine, handler, {"sip": leg_of(leg)}) as legs:
        leg.arrivals.put_nowait(arrival)
        call, found = await asyncio.wait_for(handler.carried.get(), WAIT_S)
        assert found is not None
        assert found.external_id == arrival.external_id
        again = FakeArrival("a1")
        leg.arrivals.put_nowait(again)
        assert await refusal(again) == 482
        handler.done.set()
        assert await refusal(arrival) == 480
        await service.until(lambda: arrival.line.is_over)
        assert legs.arrival_of(call.id) is None
    assert leg.state == "stopped"
    assert service.calls[call.id].types[-1] == "ended"


async def test_an_arrival_that_cannot_be_taken_is_refused(service: FakeService) -> None:
    leg, handler = FakeLeg(), Handler()
    async with engine_of(service, capacity=1) as engine, Legs(engine, handler, {"sip": leg_of(leg)}) as legs:
        for to, trunk_id, status in (("+19995550100", "4", 404), ("+12025550100", "5", 403)):
            arrival = FakeArrival(f"to {to}", to=to, trunk_id=trunk_id)
            leg.arrivals.put_nowait(arrival)
            assert await refusal(arrival) == status
        leg.arrivals.put_nowait(FakeArrival("first"))
        await asyncio.wait_for(handler.carried.get(), WAIT_S)
        beyond = FakeArrival("second")
        leg.arrivals.put_nowait(beyond)
        assert await refusal(beyond) == 503
        assert legs.refused == {"sip": {"address": 2, "number": 1, "trunk": 1, "full": 1}}
        handler.done.set()


async def test_trunks_are_told_to_the_legs_and_registrations_dealt_out(service: FakeService) -> None:
    trunk = {"kind": "sip", "address": "pbx.example", "username": "carol", "password": "x"}
    service.trunks = [{**trunk, "trunk_id": number} for number in range(4)]
    service.trunks += [{"trunk_id": 5, "kind": "sip"}, {**trunk, "trunk_id": 9}]
    leg = FakeLeg()
    legs = Legs(engine_of(service), Handler(), {"sip": leg_of(leg)}, trunk_ids=(0, 1, 2, 3, 5), share=(2, 2))
    async with legs._engine, legs:
        await service.until(lambda: len(leg.trunks) == 4)
        assert [trunk.trunk_id for trunk in leg.trunks if trunk.register] == ["1", "3"]
        for trunk_id in ("1", "3"):
            legs.on_trunk(TrunkStatus(trunk_id, TrunkState.WRONG_CREDENTIALS))
        service.trunks[3]["password"] = "right"
        service.trunk_version += 1
        service.wake()
        await service.until(lambda: leg.trunks[3].password == "right")
        assert legs.trunk_states == {"1": "wrong-credentials"}


async def test_registrations_that_are_kept_here_are_reported(service: FakeService) -> None:
    trunk = {"kind": "sip", "address": "pbx.example", "username": "carol", "password": "s3cret"}
    service.trunks = [{**trunk, "trunk_id": number} for number in range(1, 13)]
    service.trunks.append({**trunk, "trunk_id": 13, "register": False})
    leg = FakeLeg()
    legs = Legs(engine_of(service), Handler(), {"sip": leg_of(leg)}, share=(1, 2))
    async with legs._engine, legs:
        await service.until(lambda: len(leg.trunks) == 13)
        assert legs.trunk_reports == []  # nothing is known yet
        for trunk_id, state, detail in (
            ("2", TrunkState.REGISTERED, ""),
            ("4", TrunkState.WRONG_CREDENTIALS, "Wrong."),
            ("6", TrunkState.REFUSED, "Unknown."),
            ("8", TrunkState.LOST, "Silent."),
            ("3", TrunkState.REGISTERED, ""),  # another worker's
            ("13", TrunkState.WRONG_CREDENTIALS, "401"),  # is not registered
            ("99", TrunkState.REGISTERED, ""),  # gone
        ):
            legs.on_trunk(TrunkStatus(trunk_id, state, detail))
        assert legs.trunk_reports == [
            TrunkReport(2, "registered"),
            TrunkReport(4, "refused", "Wrong."),
            TrunkReport(6, "refused", "Unknown."),
            TrunkReport(8, "unreachable", "Silent."),
        ]
        service.trunks[3]["password"] = "another"
        service.trunk_version += 1
        service.wake()
        await service.until(lambda: [report.trunk_id for report in legs.trunk_reports] == [2, 6, 8])


class CheckingLeg(FakeLeg):
    """One that checks trunks."""

    async def check(self, trunk: Telephony) -> list[CheckStep]:
        return [CheckStep("resolve", ok=True, detail=f"{trunk.address} {trunk.password}")]


async def test_a_trunk_is_checked_by_the_leg_of_its_kind(service: FakeService) -> None:
    legs = Legs(engine_of(service), Handler(), {"sip": leg_of(CheckingLeg()), "twilio": leg_of(FakeLeg())})
    assert legs.can_check
    assert not Legs(engine_of(service), Handler(), {"twilio": leg_of(FakeLeg())}).can_check

    async def told(**members: Any) -> CheckStep:
        (step,) = await legs.check(ClaimedTelephony.read({"trunk_id": 4, **members}))
        return step

    good = await told(kind="sip", address="pbx.example", password="s3cret")
    assert good == CheckStep("resolve", ok=True, detail="pbx.example s3cret")
    assert (await told(kind="sip")).detail == "The trunk cannot be used: a trunk needs trunk_id and address."
    assert "carries pigeon" in (await told(kind="pigeon")).detail
    assert (await told(kind="twilio")).detail == "not tried: this engine checks no trunks of twilio"


class SilentlyCheckingLeg(FakeLeg):
    """One that checks trunks as the leg of SIP does."""

    async def check(self, trunk: Telephony) -> list[CheckStep]:
        return await sip_check.check(trunk, SipSettings("127.0.0.1", ca_file=""))


async def test_a_peer_that_never_answers_is_told_of(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sip_check, "STEP_S", 1.0)
    engine = engine_of(service)
    engine.check_trunks_by(Legs(engine, Handler(), {"sip": leg_of(SilentlyCheckingLeg())}).check)
    trunk = {"kind": "sip", "trunk_id": 4, "username": "carol", "password": "s3cret", "register": True}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        async with engine:
            for check_id in range(1, 7):
                service.ask_check(check_id, {**trunk, "address": address})
            await service.until(lambda: len(service.checked) == 6)
    for resolved, reached, registered in service.checked.values():
        assert resolved == {"name": "resolve", "ok": True, "detail": f"The address is {address}."}
        assert (reached["name"], reached["ok"]) == ("reach", False)
        assert reached["detail"].startswith("There was no answer within 1 s: ")
        assert registered == {"name": "register", "ok": False, "detail": "not tried: the trunk was not reached"}


async def test_a_call_goes_out_on_the_leg_of_its_trunk(service: FakeService) -> None:
    sip, twilio = FakeLeg(), FakeLeg()
    legs = Legs(engine_of(service), Handler(), {"sip": leg_of(sip), "twilio": leg_of(twilio)})
    trunk = Telephony(trunk_id="7", kind="twilio", address="", dial="+12025550123")
    await legs.dial(trunk, ring_timeout_s=20)
    await legs.dial(trunk, "+12025550199")
    assert twilio.dialed == [("7", "+12025550123", 20), ("7", "+12025550199", 60)]
    assert sip.dialed == []
    with pytest.raises(LegError, match="no leg of this engine carries carrier-pigeon"):
        legs.for_kind("carrier-pigeon")


async def test_a_leg_that_dies_drains_the_engine(service: FakeService) -> None:
    leg = FakeLeg()
    async with engine_of(service) as engine, Legs(engine, Handler(), {"sip": leg_of(leg)}):
        leg.arrivals.put_nowait(LegError("the stack died"))
        await service.until(lambda: engine.is_draining)


async def test_a_worker_without_legs_says_so(service: FakeService) -> None:
    with pytest.raises(LegError, match="--leg"):
        Legs.current()
    settings = WorkerSettings(
        service.url, "t", "desk-2", named_legs={"twilio": {"host": "127.0.0.1", "port": 8080, "public_url": "https://v/{worker}"}},
        number=2, workers=2,
    )  # fmt: skip
    legs = legs_of(WorkerSettings.read(settings.message()), engine_of(service), Handler())
    leg: Any = legs.for_kind("twilio")
    assert (leg._port, leg._urls.public) == (8081, "https://v/2")
    legs.on_trunk(TrunkStatus("4", TrunkState.WRONG_CREDENTIALS, "401"))
    assert legs.trunk_states == {"4": "wrong-credentials"}
