"""Checks of trunks that a user asks for, and what heartbeats tell of registrations."""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.engines import engine_of
from support.fake_service import FakeService, Fault
from switchboard_engine.client import CheckStep, Telephony, TrunkReport
from switchboard_engine.client import checks as module
from switchboard_engine.client.service import encode

TRUNK = {"kind": "sip", "trunk_id": 4, "address": "pbx.example", "username": "carol", "password": "s3cret"}
GOOD = [{"name": "resolve", "ok": True, "detail": "pbx.example is at 192.0.2.1:5060."}]


class Checker:
    """Checks trunks when a test lets it."""

    def __init__(self) -> None:
        self.seen: list[Telephony] = []
        self.at_once = self.most_at_once = 0
        self.may_end = asyncio.Event()
        self.may_end.set()

    async def __call__(self, trunk: Telephony) -> Sequence[CheckStep]:
        self.seen.append(trunk)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await self.may_end.wait()
        self.at_once -= 1
        return [CheckStep("resolve", ok=True, detail="pbx.example is at 192.0.2.1:5060.")]


async def test_a_check_is_carried_out_and_answered(service: FakeService) -> None:
    checker, engine = Checker(), engine_of(service)
    engine.check_trunks_by(checker)
    async with engine:
        service.ask_check(7, TRUNK)
        await service.until(lambda: 7 in service.checked)
    assert service.checked[7] == GOOD
    assert service.last("claim", "checks") is True
    assert (checker.seen[0].trunk_id, checker.seen[0].password) == (4, "s3cret")


async def test_an_engine_that_cannot_check_does_not_say_so(service: FakeService) -> None:
    async with engine_of(service):
        service.ask_check(7, TRUNK)
        await service.until(lambda: len(service.of("claim")) > 1)
    assert all("checks" not in body for body in service.of("claim"))
    assert service.checked == {}


async def test_a_full_engine_checks_too(service: FakeService) -> None:
    engine = engine_of(service, capacity=1)
    engine.check_trunks_by(Checker())
    service.offer(1)
    async with engine:
        await service.until(lambda: service.last("claim", "capacity") == 0)
        service.ask_check(7, TRUNK)
        await service.until(lambda: 7 in service.checked)


@pytest.mark.parametrize("fault", [Fault.BUSY, Fault.DROP_BEFORE, Fault.DROP_AFTER, Fault.TRUNCATED])
async def test_an_answer_that_gets_lost_is_sent_again(service: FakeService, fault: Fault) -> None:
    service.plan = lambda kind, nth: fault if kind == "checks" and nth < 3 else Fault.NONE
    engine = engine_of(service)
    engine.check_trunks_by(Checker())
    async with engine:
        service.ask_check(7, TRUNK)
        await service.until(lambda: len(service.of("checks")) > 0 and 7 in service.checked)
        await service.until(lambda: engine._checks.tasks == ())
    assert service.checked[7] == GOOD


async def test_a_few_checks_run_at_a_time(service: FakeService) -> None:
    checker, engine = Checker(), engine_of(service)
    checker.may_end.clear()
    engine.check_trunks_by(checker)
    many = range(1, 2 * module.RUNNING_MAX + 1)
    async with engine:
        for check_id in many:
            service.ask_check(check_id, {**TRUNK, "trunk_id": check_id})
        service.ask_check(5, TRUNK)  # once more
        await service.until(lambda: len(engine._checks.tasks) == len(many))
        await service.until(lambda: checker.at_once == module.RUNNING_MAX)
        checker.may_end.set()
        await service.until(lambda: len(service.checked) == len(many))
    assert checker.most_at_once == module.RUNNING_MAX
    assert [trunk.trunk_id for trunk in checker.seen] == list(many)


def test_a_check_is_answered_before_the_service_gives_up() -> None:
    assert module.TURN_SECONDS + module.CHECK_SECONDS + module.ANSWER_SECONDS <= 25 < limit("TRUNK_CHECK_SECONDS")


async def test_what_cannot_wait_any_longer_is_answered(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TURN_SECONDS", 0.05)
    monkeypatch.setattr(module, "WAITING_MAX", 2)
    monkeypatch.setattr(module, "RUNNING_MAX", 1)
    checker, engine = Checker(), engine_of(service)
    checker.may_end.clear()
    engine.check_trunks_by(checker)
    async with engine:
        for check_id in range(1, 6):
            service.ask_check(check_id, TRUNK)
        await service.until(lambda: len(service.checked) == 4)
        checker.may_end.set()
        await service.until(lambda: len(service.checked) == 5)
    told = [steps[0]["detail"] for check_id, steps in sorted(service.checked.items()) if check_id > 1]
    assert told == ["not tried: the engine is busy with other checks; try again in a minute"] * 4


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("breaks", "the check failed in the engine, whose log says why"),
        ("hangs", "the check took longer than 0 s; try again in a minute"),
    ],
)
async def test_a_check_that_fails_is_answered_without_details(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, how: str, why: str
) -> None:
    monkeypatch.setattr(module, "CHECK_SECONDS", 0.1)

    async def fail(trunk: Telephony) -> Sequence[CheckStep]:
        if how == "hangs":
            await asyncio.Event().wait()
        raise RuntimeError(f"the password is {trunk.password}")

    engine = engine_of(service)
    engine.check_trunks_by(fail)
    async with engine:
        service.ask_check(7, TRUNK)
        service.ask_check(8, TRUNK)
        await service.until(lambda: len(service.checked) == 2)
    told = [{"name": "resolve", "ok": False, "detail": f"not tried: {why}"}]
    assert service.checked[7] == service.checked[8] == told


@pytest.mark.parametrize("entry", [{}, {"id": None}, {"id": True}, {"id": 0.5}, {"id": 3}, {"id": 3, "trunk": []}])
async def test_entries_that_are_none_disturb_nothing(service: FakeService, entry: dict[str, Any]) -> None:
    engine = engine_of(service)
    engine.check_trunks_by(Checker())
    async with engine:
        service.checks.append(entry)
        service.ask_check(7, TRUNK)
        await service.until(lambda: 7 in service.checked)


async def test_a_detail_is_cut() -> None:
    assert len(str(CheckStep("reach", ok=False, detail="x" * 1_000).members()["detail"])) == 200


async def test_heartbeats_tell_of_registrations(service: FakeService) -> None:
    engine = engine_of(service)
    reports = [TrunkReport(4, "registered")]
    engine.report_trunks(lambda: reports)
    async with engine:
        await service.until(lambda: service.last("heartbeat", "trunks") == [
            {"id": 4, "state": "registered", "detail": ""}
        ])  # fmt: skip
        reports[:] = [TrunkReport(4, "refused", "403 Forbidden")]
        await service.until(lambda: service.last("heartbeat", "trunks") == [
            {"id": 4, "state": "refused", "detail": "403 Forbidden"}
        ])  # fmt: skip
    async with engine_of(service):
        beats = len(service.of("heartbeat"))
        await service.until(lambda: len(service.of("heartbeat")) > beats)
    assert service.last("heartbeat", "trunks") is None


def limit(name: str) -> int:
    """Return a limit of the service."""
    limits = (Path(__file__).parents[4] / "core/src/limits.rs").read_text(encoding="utf-8")
    (value,) = re.findall(rf"\b{name}: \w+ = ([\d_ <]+);", limits)
    number, _, shift = value.replace("_", "").partition("<<")
    return int(number) << int(shift or 0)


@pytest.mark.parametrize("detail", ["", "x", "\U0001f4de", '"', "\x00"])
async def test_more_registrations_than_a_heartbeat_may_tell_of_are_told_in_several(
    service: FakeService, detail: str
) -> None:
    reports = [TrunkReport(2**52 + number, "registered", detail * 300) for number in range(2_500)]
    engine = engine_of(service)
    engine.report_trunks(lambda: reports)
    async with engine:
        await service.until(lambda: len(service.registrations) == 2_500)
        reports[0] = TrunkReport(2**52, "unreachable", "Nothing listens there.")
        await service.until(lambda: service.registrations[2**52] == ("unreachable", "Nothing listens there."))
        reports[0] = TrunkReport(2**52, "registered")
        await service.until(lambda: service.registrations[2**52] == ("registered", ""))
    room_for_calls = 10_000 * len(f"{2**53},")
    for body in service.of("heartbeat"):
        told = body.get("trunks", [])
        assert len(told) <= limit("REGISTRATIONS_TOLD_MAX")
        assert all(len(report["detail"]) <= 255 for report in told)
        assert len(encode(body)) + room_for_calls <= limit("JSON_BODY_BYTES_MAX")
