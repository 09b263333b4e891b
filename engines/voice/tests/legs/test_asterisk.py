"""The Asterisk leg, against a fake of its REST interface."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from pipecat.frames.frames import EndFrame, InterruptionFrame

from switchboard_engine.dialogs import dialogs
from switchboard_engine.legs import (
    Answered,
    Arrival,
    Dtmf,
    Hold,
    LegError,
    Outcome,
    Resume,
    Ringing,
    Telephony,
    Transferred,
)
from switchboard_engine.legs.asterisk import end_dialogs
from switchboard_engine.legs.asterisk import leg as asterisk_leg
from switchboard_engine.legs.asterisk import line as asterisk_line
from switchboard_engine.legs.asterisk.leg import AsteriskLeg
from switchboard_engine.legs.settings import AsteriskSettings

from .conftest import Conversation, Watch
from .fake_asterisk import PASSWORD, USER, FakeAsterisk, Media
from .sound import RECOGNISED, audible, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS, THEIRS = "+12025550100", "+12025550123"
TRUNK = Telephony(trunk_id="4", address="sip.example", from_=OURS)


@dataclass
class Setup:
    """The leg and the Asterisk."""

    leg: AsteriskLeg
    asterisk: FakeAsterisk

    async def dialed(self) -> tuple[Watch, str]:
        """Return a call that was placed, and its channel."""
        watch = Watch(await self.leg.dial(TRUNK, THEIRS))
        request = await self.asterisk.asked("POST", "channels/*/dial")
        return watch, request["path"].split("/")[1]

    async def answered(self) -> tuple[Watch, str, Media]:
        """Return a call that was placed and answered, its channel and its media."""
        watch, channel = await self.dialed()
        await self.asterisk.dialed(channel, "ANSWER")
        await watch.wait(Answered)
        return watch, channel, next(reversed(self.asterisk.medias.values()))

    async def arrival(self) -> Arrival:
        """Return the next call."""
        return await asyncio.wait_for(anext(self.leg.incoming()), 5)

    async def nothing_left(self) -> None:
        """Wait until Asterisk has none of our channels any more."""
        for _ in range(500):
            if not self.asterisk.channels:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(self.asterisk.channels)


@pytest_asyncio.fixture(loop_scope="session")
async def setup() -> AsyncIterator[Setup]:
    """Run both."""
    asterisk = await FakeAsterisk.start()
    leg = AsteriskLeg(AsteriskSettings(asterisk.url, USER, PASSWORD), print)
    await leg.start()
    yield Setup(leg, asterisk)
    await leg.stop()
    await asterisk.close()


async def test_a_call_goes_out_and_is_heard_both_ways(setup: Setup, converse: Callable[..., Conversation]) -> None:
    watch = Watch(await setup.leg.dial(TRUNK, THEIRS, ring_timeout_s=20))
    created = await setup.asterisk.asked("POST", "channels/create")
    assert created["endpoint"] == f"PJSIP/{THEIRS}@trunk-4"
    channel = created["channelId"]
    assert watch.line.external_id == f"call-{channel}"
    shown = await setup.asterisk.asked("POST", "channels/*/variable")
    assert (shown["variable"], shown["value"]) == ("CONNECTEDLINE(num)", OURS)
    assert (await setup.asterisk.asked("POST", "channels/*/dial"))["timeout"] == "20"
    conversation = converse(watch.line)
    await conversation.start()
    for status in ("", "RINGING", "RINGING", "PROGRESS", "ANSWER"):
        await setup.asterisk.dialed(channel, status)
    await watch.wait(Answered)
    (media,) = setup.asterisk.medias.values()
    await conversation.say(tone(440, 1.0, 24_000), 24_000)
    await media.say(tone(1000, 1.0))
    await setup.asterisk.tell("ChannelDtmfReceived", channel, digit="5", duration_ms=80)
    await setup.asterisk.tell("ChannelHold", channel)
    await setup.asterisk.tell("ChannelUnhold", channel)
    await setup.asterisk.destroy(channel, 16, "Normal Clearing")
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.COMPLETED)
    seen = [*watch.seen[:3], *(event for event in watch.seen if isinstance(event, Dtmf | Hold | Resume))]
    assert seen == [Ringing(), Ringing(early_media=True), Answered(), Dtmf("5", 80), Hold(), Resume()]
    assert conversation.tap.keys == ["5"]
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    assert usual_power(audible(np.concatenate([samples for _, samples in media.heard])), 440) > RECOGNISED
    await setup.nothing_left()


@pytest.mark.parametrize(
    ("cause", "outcome", "by"),
    [
        (17, Outcome.BUSY, "customer"),
        (19, Outcome.NO_ANSWER, "customer"),
        (21, Outcome.REJECTED, "customer"),
        (1, Outcome.UNREACHABLE, "customer"),
        (38, Outcome.UNREACHABLE, "engine"),
    ],
)
async def test_a_refused_call_says_why(setup: Setup, cause: int, outcome: Outcome, by: str) -> None:
    watch, channel = await setup.dialed()
    await setup.asterisk.destroy(channel, cause)
    ended = await watch.ended()
    assert (ended.outcome, ended.by) == (outcome, by)
    await setup.nothing_left()


async def test_an_interruption_flushes_and_an_end_is_heard_out(
    setup: Setup, converse: Callable[..., Conversation]
) -> None:
    watch, _, media = await setup.answered()
    conversation = converse(watch.line)
    await conversation.start()
    await conversation.say(tone(440, 3.0, 16_000))
    await asyncio.sleep(0.5)
    await conversation.worker.queue_frame(InterruptionFrame())
    await asyncio.sleep(0.2)
    assert media.flushed
    assert not [at for at, _ in media.heard if at > media.flushed[0] + 0.03]
    await conversation.say(tone(440, 0.2, 16_000))
    await conversation.worker.queue_frame(EndFrame())
    await conversation.finished()
    await watch.line.hangup()


async def test_keys_holds_and_hang_ups_are_requests(setup: Setup) -> None:
    watch, channel, _ = await setup.answered()
    await watch.line.send_dtmf("5a")
    assert (await setup.asterisk.asked("POST", f"channels/{channel}/dtmf"))["dtmf"] == "5A"
    with pytest.raises(ValueError, match="DTMF"):
        await watch.line.send_dtmf("x")
    await watch.line.hold()
    await setup.asterisk.asked("POST", f"channels/{channel}/hold")
    await watch.line.resume()
    await setup.asterisk.asked("DELETE", f"channels/{channel}/hold")
    await watch.line.hangup()
    assert (await watch.ended()).by == "assistant"
    await setup.nothing_left()
    with pytest.raises(LegError, match="not up"):
        await watch.line.hold()


async def test_a_transfer_goes_to_the_dialplan(setup: Setup) -> None:
    watch, channel, _ = await setup.answered()
    setup.asterisk.failing["continue"] = 500
    assert (await watch.line.transfer("+12025550199")).status == "failed"
    setup.asterisk.failing.clear()
    assert await watch.line.transfer("+12025550199") == Transferred("+12025550199", "accepted")
    request = await setup.asterisk.asked("POST", f"channels/{channel}/continue")
    assert (request["context"], request["extension"]) == ("switchboard-transfer", "+12025550199")
    assert (await watch.ended()).outcome == Outcome.TRANSFERRED
    await asyncio.sleep(0.1)
    assert list(setup.asterisk.channels) == [channel]  # the customer's, which is not ours any more
    with pytest.raises(LegError, match="not up"):
        await watch.line.transfer("+1")


async def test_a_call_comes_in(setup: Setup, converse: Callable[..., Conversation]) -> None:
    await setup.asterisk.enter("17.1")
    arrival = await setup.arrival()
    assert (arrival.from_, arrival.to, arrival.trunk_id) == ("+15550100", OURS, "4")
    assert arrival.external_id == "call-17.1"
    await setup.asterisk.asked("POST", "channels/17.1/ring")
    conversation = converse(arrival.line)
    await conversation.start()
    watch = Watch(await arrival.answer())
    await watch.wait(Answered)
    (media,) = setup.asterisk.medias.values()
    await media.say(tone(1000, 0.4))
    await asyncio.sleep(0.1)
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    await setup.asterisk.tell("StasisEnd", "17.1")
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.COMPLETED)


@pytest.mark.parametrize(("status", "cause"), [(486, "17"), (404, "1"), (503, "34"), (403, "21")])
async def test_a_call_to_us_is_refused(setup: Setup, status: int, cause: str) -> None:
    await setup.asterisk.enter("17.2", args=())
    arrival = await setup.arrival()
    assert arrival.trunk_id == ""
    watch = Watch(arrival.line)
    await arrival.reject(status)
    assert (await setup.asterisk.asked("DELETE", "channels/17.2"))["reason_code"] == cause
    assert (await watch.ended()).outcome == Outcome.REJECTED


async def test_a_caller_gives_up(setup: Setup) -> None:
    await setup.asterisk.enter("17.3")
    arrival = await setup.arrival()
    watch = Watch(arrival.line)
    await setup.asterisk.destroy("17.3", 16)
    assert (await watch.ended()).outcome == Outcome.CANCELLED
    with pytest.raises(LegError, match="gone"):
        await arrival.answer()


@pytest.mark.parametrize("part", ["create", "variable", "externalMedia", "bridges", "dial"])
async def test_a_step_that_asterisk_refuses_leaves_nothing(setup: Setup, part: str) -> None:
    setup.asterisk.failing[part] = 500
    with pytest.raises(LegError, match="500 Not like this"):
        await setup.leg.dial(TRUNK, THEIRS)
    setup.asterisk.failing.clear()
    await setup.nothing_left()
    with pytest.raises(LegError, match="cannot be dialed"):
        await setup.leg.dial(TRUNK, "1@evil/n")


async def test_media_that_do_not_start_are_an_error(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asterisk_line, "START_S", 0.1)
    setup.asterisk.speaks_media = False
    with pytest.raises(LegError, match="did not start"):
        await setup.leg.dial(TRUNK, THEIRS)
    await setup.nothing_left()


async def test_media_that_break_end_the_line(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asterisk_line, "EVENT_S", 0.05)
    watch, _, media = await setup.answered()
    await media.socket.close()
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("engine", Outcome.FAILED)
    await setup.nothing_left()


async def test_calls_outlive_a_break_of_the_events_and_those_that_ended_meanwhile_end(setup: Setup) -> None:
    (goes_on, channel, _), (gone, lost, _) = await setup.answered(), await setup.answered()
    ringing, ringing_channel = await setup.dialed()
    await setup.asterisk.drop_events()
    del setup.asterisk.channels[lost]
    setup.asterisk.channels[ringing_channel]["state"] = "Up"
    await asyncio.wait_for(setup.asterisk.attached.wait(), 5)
    assert (await gone.ended()).by == "customer"
    await ringing.wait(Answered)
    await setup.asterisk.tell("ChannelDtmfReceived", channel, digit="1", duration_ms=80)
    assert (await goes_on.wait(Dtmf)).digit == "1"
    for watch in (goes_on, ringing):
        await watch.line.hangup()


async def test_calls_end_when_asterisk_stays_away(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asterisk_leg, "RETURN_S", 0.2)
    watch, _, _ = await setup.answered()
    setup.asterisk.is_open = False
    await setup.asterisk.drop_events()
    ended = await watch.ended()
    assert (ended.by, ended.outcome, ended.detail) == ("engine", Outcome.FAILED, "Asterisk cannot be reached")
    setup.asterisk.is_open = True
    await asyncio.wait_for(setup.asterisk.attached.wait(), 10)
    watch, _, _ = await setup.answered()
    await watch.line.hangup()


async def test_events_that_are_none_are_passed_over(setup: Setup) -> None:
    watch, channel, media = await setup.answered()
    for text in ("", "[]", "{}", '{"type":1}', '{"type":"StasisStart"}', '{"type":"Dial","peer":7}', "\x00"):
        await setup.asterisk.tell_raw(text)
    await setup.asterisk.tell("ChannelDtmfReceived", channel, digit="xx", duration_ms=80)
    await setup.asterisk.tell("ChannelDestroyed", channel, cause="odd")
    for garbage in ("", "[]", "{", '{"event":"MEDIA_MARK_PROCESSED"}', '{"event":"MEDIA_XOFF"}'):
        await media.socket.send_str(garbage)
    await setup.asterisk.tell("ChannelDtmfReceived", channel, digit="1", duration_ms=80)
    assert (await watch.wait(Dtmf)).digit == "1"
    await watch.line.hangup()


async def test_an_asterisk_that_refuses_us_or_is_not_there_is_named(setup: Setup) -> None:
    for settings in (
        AsteriskSettings(setup.asterisk.url, USER, "wrong"),
        AsteriskSettings("http://127.0.0.1:9", USER, PASSWORD),
    ):
        with pytest.raises(LegError, match=r"refused the user name or password|could not be asked"):
            await AsteriskLeg(settings, print).start()
    assert PASSWORD not in repr(AsteriskSettings(setup.asterisk.url, USER, PASSWORD))


async def test_what_a_dead_worker_left_is_deleted(setup: Setup) -> None:
    told: list[Mapping[str, Any]] = []
    dialogs.tell(told.append)
    try:
        watch, channel, _ = await setup.answered()
        left = told[-1]["data"]
        await end_dialogs([{**left, "password": "wrong"}])
        assert channel in setup.asterisk.channels
        await end_dialogs([left])
        await setup.nothing_left()
        await watch.ended()
        assert told[-1] == {"kind": "dialog over", "leg": "asterisk", "key": channel}
    finally:
        dialogs.tell(None)
