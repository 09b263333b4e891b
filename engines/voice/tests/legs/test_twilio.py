"""The Twilio leg, against a fake of the service."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import numpy as np
import pytest
import pytest_asyncio
from pipecat.frames.frames import EndFrame, InterruptionFrame

from support.ports import free_port
from switchboard_engine.dialogs import dialogs
from switchboard_engine.legs import (
    Answered,
    Arrival,
    Dtmf,
    LegError,
    Outcome,
    Ringing,
    Telephony,
    Transferred,
    TrunkStatus,
)
from switchboard_engine.legs import stream as streams
from switchboard_engine.legs.settings import TwilioSettings
from switchboard_engine.legs.twilio import end_dialogs
from switchboard_engine.legs.twilio import leg as twilio_leg
from switchboard_engine.legs.twilio.leg import TwilioLeg

from .conftest import Conversation, Watch, either_machine
from .fake_stream import Stream
from .fake_twilio import SID, TOKEN, FakeTwilio
from .sound import RECOGNISED, audible, power, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS = "+12025550100"


@dataclass
class Setup:
    """The leg, the service, and the trunk between them."""

    leg: TwilioLeg
    twilio: FakeTwilio
    url: str
    trunk: Telephony
    statuses: list[TrunkStatus] = field(default_factory=list)

    async def arrival(self) -> Arrival:
        """Return the next call."""
        return await asyncio.wait_for(anext(self.leg.incoming()), 5)

    async def status(self, sid: str, status: str) -> int:
        """Tell the leg how a call goes."""
        form = {"CallSid": sid, "CallStatus": status}
        return (await self.twilio.post(f"{self.url}/twilio/status", form))[0]

    async def answered(self) -> tuple[Watch, Stream]:
        """Return a call that was placed and answered."""
        watch = Watch(await self.leg.dial(self.trunk, "+12025550123"))
        _, form = await self.twilio.asked()
        stream = await self.twilio.stream(form["Twiml"], watch.line.external_id)
        await watch.wait(Answered)
        return watch, stream


@pytest_asyncio.fixture(loop_scope="session")
async def setup() -> AsyncIterator[Setup]:
    """Run both."""
    twilio, port = await FakeTwilio.start(), free_port()
    statuses: list[TrunkStatus] = []
    url = f"http://127.0.0.1:{port}"
    leg = TwilioLeg(TwilioSettings("127.0.0.1", port, url), statuses.append)
    await leg.start()
    trunk = Telephony(trunk_id="tw", kind="twilio", address=twilio.url, from_=OURS, username=SID, password=TOKEN)
    await leg.set_trunks([trunk])
    yield Setup(leg, twilio, url, trunk, statuses)
    await leg.stop()
    await twilio.close()


@either_machine
async def test_a_call_is_placed_answered_and_heard_both_ways(
    setup: Setup, converse: Callable[..., Conversation], late_ms: int
) -> None:
    line = await setup.leg.dial(setup.trunk, "+12025550123", ring_timeout_s=30)
    watch = Watch(line)
    path, form = await setup.twilio.asked()
    assert (path, form["To"], form["From"], form["Timeout"]) == ("Calls.json", "+12025550123", OURS, "30")
    assert await setup.status(line.external_id, "ringing") == 204
    conversation = converse(line)
    await conversation.start()
    stream = await setup.twilio.stream(form["Twiml"], line.external_id)
    await watch.wait(Answered)
    await conversation.say(tone(440, 1.0, 24_000), 24_000)
    await stream.say(tone(1000, 1.0))
    await stream.press("5")
    await asyncio.sleep(0.3)
    await stream.stop()
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.COMPLETED)
    assert [type(event) for event in watch.seen[:3]] == [Ringing, Answered, Dtmf]
    assert conversation.tap.keys == ["5"]
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    assert usual_power(audible(np.concatenate([samples for _, samples in stream.heard])), 440) > RECOGNISED
    assert stream.ahead_ms_max < 140 + late_ms


@pytest.mark.parametrize(
    ("status", "outcome", "by"),
    [
        ("busy", Outcome.BUSY, "customer"),
        ("no-answer", Outcome.NO_ANSWER, "customer"),
        ("failed", Outcome.UNREACHABLE, "engine"),
        ("canceled", Outcome.CANCELLED, "customer"),
    ],
)
async def test_a_refused_call_says_why(setup: Setup, status: str, outcome: Outcome, by: str) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, "+12025550123"))
    await setup.status(watch.line.external_id, status)
    ended = await watch.ended()
    assert (ended.outcome, ended.by) == (outcome, by)


@either_machine
async def test_an_interruption_clears_what_was_sent(
    setup: Setup, converse: Callable[..., Conversation], late_ms: int
) -> None:
    watch, stream = await setup.answered()
    conversation = converse(watch.line)
    await conversation.start()
    await conversation.say(tone(440, 3.0, 16_000))
    await asyncio.sleep(0.8)
    interrupted_at = time.time()
    await conversation.worker.queue_frame(InterruptionFrame())
    await asyncio.sleep(0.4)
    assert stream.cleared
    assert 1000 * (stream.cleared[0] - interrupted_at) < 100 + late_ms
    assert not [at for at, _ in stream.heard if at > stream.cleared[0] + 0.03]
    await watch.line.hangup()


async def test_the_end_of_a_conversation_waits_until_it_was_heard(
    setup: Setup, converse: Callable[..., Conversation]
) -> None:
    watch, stream = await setup.answered()
    conversation = converse(watch.line)
    await conversation.start()
    began = time.time()
    await conversation.say(tone(440, 0.6, 16_000))
    await conversation.worker.queue_frame(EndFrame())
    await conversation.finished()
    assert time.time() - began > 0.58
    await watch.line.hangup()
    assert stream.heard


async def test_we_hang_up_and_give_up(setup: Setup) -> None:
    watch, _ = await setup.answered()
    await watch.line.hangup()
    path, form = await setup.twilio.asked()
    assert (path, form) == (f"Calls/{watch.line.external_id}.json", {"Status": "completed"})
    assert (await watch.ended()).by == "assistant"
    ringing = Watch(await setup.leg.dial(setup.trunk, "+12025550123"))
    await setup.twilio.asked()
    await ringing.line.hangup()
    assert (await setup.twilio.asked())[1] == {"Status": "canceled"}
    ended = await ringing.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.CANCELLED)
    await ringing.line.hangup()


async def test_keys_are_sent_as_sound(setup: Setup) -> None:
    watch, stream = await setup.answered()
    await watch.line.send_dtmf("5")
    await asyncio.sleep(0.3)
    heard = audible(np.concatenate([samples for _, samples in stream.heard]))
    assert power(heard, 770) > 0.4
    assert power(heard, 1336) > 0.4
    with pytest.raises(ValueError, match="DTMF"):
        await watch.line.send_dtmf("x")
    await watch.line.hangup()


async def test_a_transfer_dials_and_ends_the_line(setup: Setup) -> None:
    watch, _ = await setup.answered()
    setup.twilio.failing = 400
    assert (await watch.line.transfer("+12025550199")).status == "failed"
    setup.twilio.failing = 0
    assert await watch.line.transfer("+12025550199") == Transferred("+12025550199", "accepted")
    assert (await setup.twilio.asked())[1] == {"Twiml": "<Response><Dial>+12025550199</Dial></Response>"}
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.TRANSFERRED)


async def test_what_a_stream_cannot_do_is_an_error(setup: Setup) -> None:
    watch, _ = await setup.answered()
    for asked in (watch.line.hold(), watch.line.resume(), watch.line.transfer("+1", "warm")):
        with pytest.raises(LegError, match=r"media stream|blind only"):
            await asked
    with pytest.raises(LegError, match="cannot be dialed"):
        await watch.line.transfer("</Dial><Say>")
    await watch.line.hangup()


async def test_wrong_credentials_are_told_of_call_and_trunk(setup: Setup) -> None:
    wrong = Telephony(trunk_id="w", kind="twilio", address=setup.twilio.url, from_=OURS, username=SID, password="wrong")
    with pytest.raises(LegError, match="credentials"):
        await setup.leg.dial(wrong, "+12025550123")
    assert [(status.trunk_id, status.state) for status in setup.statuses] == [("w", "wrong-credentials")]


async def test_a_call_that_twilio_refuses_is_an_error(setup: Setup) -> None:
    setup.twilio.failing = 400
    with pytest.raises(LegError, match="Invalid 'To'"):
        await setup.leg.dial(setup.trunk, "nobody")


def question(to: str = OURS) -> dict[str, str]:
    """What Twilio asks when a call comes in."""
    return {"CallSid": "CA77", "From": "+15550100", "To": to, "CallStatus": "ringing", "Direction": "inbound"}


async def test_a_call_to_us_is_answered(setup: Setup, converse: Callable[..., Conversation]) -> None:
    asking = asyncio.create_task(setup.twilio.post(f"{setup.url}/twilio/voice", question()))
    arrival = await setup.arrival()
    assert (arrival.from_, arrival.to, arrival.trunk_id, arrival.external_id) == ("+15550100", OURS, "tw", "CA77")
    conversation = converse(arrival.line)
    await conversation.start()
    line = await arrival.answer()
    watch = Watch(line)
    status, twiml = await asking
    assert status == 200
    stream = await setup.twilio.stream(twiml, "CA77")
    await watch.wait(Answered)
    await stream.say(tone(1000, 0.4))
    await asyncio.sleep(0.1)
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    await stream.stop()
    assert (await watch.ended()).by == "customer"


@pytest.mark.parametrize(("status", "reason"), [(486, "busy"), (404, "rejected")])
async def test_a_call_to_us_is_refused(setup: Setup, status: int, reason: str) -> None:
    asking = asyncio.create_task(setup.twilio.post(f"{setup.url}/twilio/voice", question()))
    arrival = await setup.arrival()
    watch = Watch(arrival.line)
    await arrival.reject(status)
    assert (await asking)[1] == f'<Response><Reject reason="{reason}"/></Response>'
    assert (await watch.ended()).outcome == Outcome.REJECTED


async def test_a_caller_who_hangs_up_before_the_answer_ends_the_line(setup: Setup) -> None:
    asking = asyncio.create_task(setup.twilio.post(f"{setup.url}/twilio/voice", question()))
    watch = Watch((await setup.arrival()).line)
    asking.cancel()
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.CANCELLED)


async def test_a_call_that_we_hang_up_before_the_answer_is_refused(setup: Setup) -> None:
    asking = asyncio.create_task(setup.twilio.post(f"{setup.url}/twilio/voice", question()))
    await (await setup.arrival()).line.hangup()
    assert "<Reject" in (await asking)[1]


async def test_a_websocket_that_says_nothing_is_closed(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "START_S", 0.1)
    async with setup.twilio.session.ws_connect(f"{setup.url}/twilio/media") as socket:
        assert (await asyncio.wait_for(socket.receive(), 5)).type is aiohttp.WSMsgType.CLOSE


@pytest.mark.parametrize(("to", "token"), [(OURS, "forged"), ("+19995550100", TOKEN)])
async def test_a_stranger_is_refused(setup: Setup, to: str, token: str) -> None:
    assert (await setup.twilio.post(f"{setup.url}/twilio/voice", question(to), token=token))[0] == 403
    assert (await setup.twilio.post(f"{setup.url}/twilio/status", {"CallSid": "CA1"}, token=token))[0] == 403


async def test_a_call_whose_stream_never_comes_ends(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twilio_leg, "STREAM_S", 0.2)
    asking = asyncio.create_task(setup.twilio.post(f"{setup.url}/twilio/voice", question()))
    arrival = await setup.arrival()
    watch = Watch(await arrival.answer())
    await asking
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("engine", Outcome.FAILED)


async def test_a_stream_needs_the_token_of_its_own_call_once(setup: Setup) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, "+12025550123"))
    _, form = await setup.twilio.asked()
    other = await setup.twilio.stream(form["Twiml"].replace('value="', 'value="x'), watch.line.external_id)
    await other.closed()
    first = await setup.twilio.stream(form["Twiml"], watch.line.external_id)
    await watch.wait(Answered)
    second = await setup.twilio.stream(form["Twiml"], watch.line.external_id)
    await second.closed()
    assert not first.socket.closed
    for garbage in ("", "{}", "[]", '{"event":"media","media":{"payload":"!"}}', '{"event":"media"}', "\x00"):
        await first.socket.send_str(garbage)
    await first.press("1")
    await watch.wait(Dtmf)
    await first.stop()
    await watch.ended()


async def test_what_a_dead_worker_left_is_ended_by_the_api(setup: Setup) -> None:
    told: list[Mapping[str, Any]] = []
    dialogs.tell(told.append)
    try:
        watch, _ = await setup.answered()
        left = told[-1]["data"]
        await end_dialogs([left, {**left, "telephony": {**left["telephony"], "password": "wrong"}}])
        assert await setup.twilio.asked() == (f"Calls/{watch.line.external_id}.json", {"Status": "completed"})
        assert setup.twilio.requests.empty()
        await watch.line.hangup()
        assert told[-1] == {"kind": "dialog over", "leg": "twilio", "key": watch.line.external_id}
    finally:
        dialogs.tell(None)
