"""The Telnyx leg, against a fake of the service."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import pytest_asyncio
from pipecat.frames.frames import InterruptionFrame

from support.ports import free_port
from switchboard_engine.dialogs import dialogs
from switchboard_engine.legs import (
    Answered,
    Arrival,
    Dtmf,
    LegError,
    Outcome,
    Telephony,
    Transferred,
    TrunkStatus,
)
from switchboard_engine.legs.settings import TelnyxSettings
from switchboard_engine.legs.telnyx import end_dialogs
from switchboard_engine.legs.telnyx import leg as telnyx_leg
from switchboard_engine.legs.telnyx import line as telnyx_line
from switchboard_engine.legs.telnyx.leg import TelnyxLeg

from .conftest import Conversation, Watch, either_machine
from .fake_stream import Stream
from .fake_telnyx import APPLICATION, KEY, FakeTelnyx
from .sound import RECOGNISED, audible, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")

OURS, THEIRS = "+12025550100", "+12025550123"


@dataclass
class Setup:
    """The leg, the service, and the trunk between them."""

    leg: TelnyxLeg
    telnyx: FakeTelnyx
    url: str
    trunk: Telephony
    statuses: list[TrunkStatus] = field(default_factory=list)

    async def tell(self, event: str, **payload: Any) -> int:
        """Send a webhook."""
        return await self.telnyx.tell(f"{self.url}/telnyx/webhook", event, **payload)

    async def ring(self, leg_id: str = "in-1", to: str = OURS) -> int:
        """Have a call come in."""
        return await self.tell(
            "call.initiated", direction="incoming", state="parked", call_leg_id=leg_id,
            call_control_id=f"v3:{leg_id}", to=to, **{"from": "+15550100"},
        )  # fmt: skip

    async def arrival(self) -> Arrival:
        """Return the next call."""
        return await asyncio.wait_for(anext(self.leg.incoming()), 5)

    async def answered(self) -> tuple[Watch, Stream]:
        """Return a call that was placed and answered, and its stream."""
        watch = Watch(await self.leg.dial(self.trunk, THEIRS))
        _, members = await self.telnyx.commanded()
        stream = await self.telnyx.stream(members, watch.line.external_id.replace("leg-", "v3:"))
        await watch.wait(Answered)
        return watch, stream


@pytest_asyncio.fixture(loop_scope="session")
async def setup() -> AsyncIterator[Setup]:
    """Run both."""
    telnyx, port = await FakeTelnyx.start(), free_port()
    statuses: list[TrunkStatus] = []
    url = f"http://127.0.0.1:{port}"
    leg = TelnyxLeg(TelnyxSettings("127.0.0.1", port, url, (telnyx.public_key,)), statuses.append)
    await leg.start()
    trunk = Telephony(trunk_id="7", kind="telnyx", address=telnyx.url, from_=OURS, username=APPLICATION, password=KEY)
    await leg.set_trunks([trunk])
    yield Setup(leg, telnyx, url, trunk, statuses)
    await leg.stop()
    await telnyx.close()


@either_machine
async def test_a_call_is_placed_answered_and_heard_both_ways(
    setup: Setup, converse: Callable[..., Conversation], late_ms: int
) -> None:
    line = await setup.leg.dial(setup.trunk, THEIRS, ring_timeout_s=30)
    watch = Watch(line)
    path, members = await setup.telnyx.commanded()
    assert (path, members["to"], members["from"], members["timeout_secs"]) == ("calls", THEIRS, OURS, 30)
    assert (members["stream_bidirectional_mode"], members["stream_bidirectional_codec"]) == ("rtp", "PCMU")
    assert members["webhook_url"] == f"{setup.url}/telnyx/webhook"
    conversation = converse(line)
    await conversation.start()
    stream = await setup.telnyx.stream(members, "v3:1")
    await watch.wait(Answered)
    await conversation.say(tone(440, 1.0, 24_000), 24_000)
    await stream.say(tone(1000, 1.0))
    await stream.press("5")
    await asyncio.sleep(0.3)
    await stream.stop()
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.COMPLETED)
    assert [type(event) for event in watch.seen[:2]] == [Answered, Dtmf]
    assert conversation.tap.keys == ["5"]
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    assert usual_power(audible(np.concatenate([samples for _, samples in stream.heard])), 440) > RECOGNISED
    assert stream.ahead_ms_max < 140 + late_ms


@pytest.mark.parametrize(
    ("cause", "status", "outcome", "by"),
    [
        ("user_busy", "486", Outcome.BUSY, "customer"),
        ("timeout", None, Outcome.NO_ANSWER, "customer"),
        ("call_rejected", "603", Outcome.REJECTED, "customer"),
        ("not_found", "404", Outcome.UNREACHABLE, "customer"),
        ("unspecified", "odd", Outcome.UNREACHABLE, "engine"),
    ],
)
async def test_a_refused_call_says_why(setup: Setup, cause: str, status: str, outcome: Outcome, by: str) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, THEIRS))
    await setup.tell(
        "call.hangup", call_leg_id=watch.line.external_id, hangup_cause=cause, sip_hangup_cause=status
    )  # fmt: skip
    ended = await watch.ended()
    assert (ended.outcome, ended.by) == (outcome, by)
    assert ended.status == (int(status) if status and status.isdecimal() else None)


async def test_an_interruption_clears_what_was_sent(setup: Setup, converse: Callable[..., Conversation]) -> None:
    watch, stream = await setup.answered()
    conversation = converse(watch.line)
    await conversation.start()
    await conversation.say(tone(440, 3.0, 16_000))
    await asyncio.sleep(0.6)
    await conversation.worker.queue_frame(InterruptionFrame())
    await asyncio.sleep(0.3)
    assert stream.cleared
    assert not [at for at, _ in stream.heard if at > stream.cleared[0] + 0.03]
    await watch.line.hangup()


async def test_we_hang_up_answered_or_not(setup: Setup) -> None:
    watch, _ = await setup.answered()
    await watch.line.hangup()
    assert (await setup.telnyx.commanded())[0] == "calls/v3:1/actions/hangup"
    assert (await watch.ended()).by == "assistant"
    ringing = Watch(await setup.leg.dial(setup.trunk, THEIRS))
    await setup.telnyx.commanded()
    setup.telnyx.failing = (422, "90018")  # its callee was quicker
    await ringing.line.hangup()
    ended = await ringing.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.CANCELLED)


async def test_keys_are_pressed_by_command(setup: Setup) -> None:
    watch, _ = await setup.answered()
    await watch.line.send_dtmf("5#a")
    path, members = await setup.telnyx.commanded()
    assert (path, members) == ("calls/v3:1/actions/send_dtmf", {"digits": "5#A", "duration_millis": 100})
    with pytest.raises(ValueError, match="DTMF"):
        await watch.line.send_dtmf("x")
    for asked in (watch.line.hold(), watch.line.resume()):
        with pytest.raises(LegError, match="media stream"):
            await asked
    await watch.line.hangup()


async def transferring(setup: Setup, watch: Watch) -> "tuple[asyncio.Task[Transferred], str]":
    """Begin a transfer; returns it and the state that its webhooks carry."""
    task = asyncio.create_task(watch.line.transfer("+12025550199"))
    path, members = await setup.telnyx.commanded()
    assert (path, members["to"]) == ("calls/v3:1/actions/transfer", "+12025550199")
    return task, members["target_leg_client_state"]


async def test_a_transfer_is_accepted_when_it_is_answered(setup: Setup) -> None:
    watch, _ = await setup.answered()
    task, state = await transferring(setup, watch)
    with pytest.raises(LegError, match="under way"):
        await watch.line.transfer("+12025550198")
    await setup.tell("call.initiated", call_leg_id="b", client_state=state, direction="outgoing")
    assert not task.done()
    await setup.tell("call.answered", call_leg_id="b", client_state=state)
    assert await task == Transferred("+12025550199", "accepted")
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.TRANSFERRED)


async def test_a_transfer_that_fails_goes_on(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    watch, stream = await setup.answered()
    task, state = await transferring(setup, watch)
    await setup.tell("call.hangup", call_leg_id="b", client_state=state, hangup_cause="user_busy")
    assert await task == Transferred("+12025550199", "failed", "user_busy")
    monkeypatch.setattr(telnyx_line, "TRANSFER_TIMEOUT_S", 0.1)
    task, _ = await transferring(setup, watch)
    assert (await task).reason == "nobody answered"
    monkeypatch.undo()
    task, _ = await transferring(setup, watch)
    await stream.stop()
    assert (await task).status == "failed"
    assert (await watch.ended()).by == "customer"


async def test_a_warm_transfer_connects_both_customers(setup: Setup) -> None:
    (customer, _), (colleague, _) = await setup.answered(), await setup.answered()
    with pytest.raises(LegError, match="answered line"):
        await customer.line.transfer("", "warm")
    setup.telnyx.failing = (422, "1")
    assert (await customer.line.transfer("", "warm", consultation=colleague.line)).status == "failed"
    setup.telnyx.failing = None
    assert (await customer.line.transfer("", "warm", consultation=colleague.line)).status == "accepted"
    assert await setup.telnyx.commanded() == ("calls/v3:1/actions/bridge", {"call_control_id": "v3:2"})
    for watch in (customer, colleague):
        assert (await watch.ended()).outcome == Outcome.TRANSFERRED


async def test_a_call_to_us_is_answered_once(setup: Setup, converse: Callable[..., Conversation]) -> None:
    assert await setup.ring() == 200
    arrival = await setup.arrival()
    assert (arrival.from_, arrival.to, arrival.trunk_id, arrival.external_id) == ("+15550100", OURS, "7", "in-1")
    assert await setup.ring() == 200  # webhooks come twice
    conversation = converse(arrival.line)
    await conversation.start()
    watch = Watch(await arrival.answer())
    path, members = await setup.telnyx.commanded()
    assert path == "calls/v3:in-1/actions/answer"
    stream = await setup.telnyx.stream(members, "v3:in-1")
    await watch.wait(Answered)
    await stream.say(tone(1000, 0.4))
    await asyncio.sleep(0.1)
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    await setup.tell("call.hangup", call_leg_id="in-1", hangup_cause="normal_clearing", hangup_source="caller")
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.COMPLETED)
    await setup.ring()  # late, and of a call that is over
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(setup.leg.incoming()), 0.1)
    assert setup.telnyx.commands.empty()


@pytest.mark.parametrize(("status", "cause"), [(486, "USER_BUSY"), (404, "CALL_REJECTED"), (200, "CALL_REJECTED")])
async def test_a_call_to_us_is_refused(setup: Setup, status: int, cause: str) -> None:
    await setup.ring()
    arrival = await setup.arrival()
    watch = Watch(arrival.line)
    await arrival.reject(status)
    assert await setup.telnyx.commanded() == ("calls/v3:in-1/actions/reject", {"cause": cause})
    assert (await watch.ended()).outcome == Outcome.REJECTED


async def test_a_caller_gives_up_while_it_rings(setup: Setup) -> None:
    await setup.ring()
    arrival = await setup.arrival()
    watch = Watch(arrival.line)
    setup.telnyx.failing = (422, "90018")
    await setup.tell("call.hangup", call_leg_id="in-1", hangup_cause="originator_cancel")
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.CANCELLED)
    with pytest.raises(LegError, match="gone"):
        await arrival.answer()


async def test_an_answer_that_is_refused_ends_the_line(setup: Setup) -> None:
    for failing, by in (((422, "90018"), "customer"), ((500, ""), "engine")):
        setup.telnyx.failing = failing
        await setup.ring(f"in-{by}")
        watch = Watch(await (await setup.arrival()).answer())
        assert (await watch.ended()).by == by


async def test_a_call_whose_stream_never_comes_ends(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(telnyx_leg, "STREAM_S", 0.2)
    await setup.ring()
    watch = Watch(await (await setup.arrival()).answer())
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("engine", Outcome.FAILED)


async def test_what_telnyx_did_not_sign_now_is_refused(setup: Setup) -> None:
    assert await setup.tell("call.hangup", call_leg_id="x", forged=True) == 403
    for late in (-301, 301):
        assert await setup.tell("call.hangup", call_leg_id="x", at=time.time() + late) == 403
    url = f"{setup.url}/telnyx/webhook"
    for headers in (
        {},
        {"telnyx-timestamp": str(int(time.time())), "telnyx-signature-ed25519": "!"},
        {"telnyx-timestamp": "\u0661", "telnyx-signature-ed25519": "AAAA"},
        {"telnyx-timestamp": "9" * 400, "telnyx-signature-ed25519": "AAAA"},
    ):
        async with setup.telnyx.session.post(url, data=b"{}", headers=headers) as response:
            assert response.status == 403
    assert await setup.ring(to="+19995550100") == 200  # nobody's number: Telnyx needs no error
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(anext(setup.leg.incoming()), 0.1)


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"data":{}}', b'{"data":{"event_type":"x","payload":[]}}', b"\xff"]
)
async def test_a_signed_webhook_that_is_none_is_400(setup: Setup, body: bytes) -> None:
    assert await setup.telnyx.post(f"{setup.url}/telnyx/webhook", body) == 400


async def test_a_webhook_too_large_is_refused(setup: Setup) -> None:
    assert await setup.telnyx.post(f"{setup.url}/telnyx/webhook", b"x" * 100_000) == 413


async def test_a_stream_needs_the_token_of_its_own_call_once(setup: Setup) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, THEIRS))
    _, members = await setup.telnyx.commanded()
    forged = await setup.telnyx.stream({"stream_url": members["stream_url"] + "x"}, "v3:1")
    await forged.closed()
    first = await setup.telnyx.stream(members, "v3:1")
    await watch.wait(Answered)
    second = await setup.telnyx.stream(members, "v3:1")
    await second.closed()
    for garbage in (
        "",
        "{}",
        "[]",
        '{"event":"media","media":{"payload":"!"}}',
        '{"event":"dtmf","dtmf":{"digit":"xx"}}',
    ):
        await first.socket.send_str(garbage)
    await first.press("1")
    assert (await watch.wait(Dtmf)).digit == "1"
    await first.stop()
    await watch.ended()


async def test_wrong_credentials_and_refusals_are_told(setup: Setup) -> None:
    wrong = Telephony(trunk_id="8", kind="telnyx", address=setup.telnyx.url, from_=OURS, username="a", password="wrong")
    with pytest.raises(LegError, match="API key"):
        await setup.leg.dial(wrong, THEIRS)
    assert [(status.trunk_id, status.state) for status in setup.statuses] == [("8", "wrong-credentials")]
    setup.telnyx.failing = (422, "10016")
    with pytest.raises(LegError, match="422 Not like this"):
        await setup.leg.dial(setup.trunk, THEIRS)


@pytest.mark.parametrize("key", ["", "AAAA", "not base64!"])
async def test_a_public_key_that_is_none_is_named(key: str) -> None:
    with pytest.raises(ValueError, match="no public key of Telnyx's"):
        TelnyxLeg(TelnyxSettings("127.0.0.1", 1, "https://x", (key,)), print)


async def test_what_a_dead_worker_left_is_ended_by_command(setup: Setup) -> None:
    told: list[Mapping[str, Any]] = []
    dialogs.tell(told.append)
    try:
        watch, _ = await setup.answered()
        left = told[-1]["data"]
        await end_dialogs([left, {**left, "telephony": {**left["telephony"], "password": "wrong"}}])
        assert (await setup.telnyx.commanded())[0] == "calls/v3:1/actions/hangup"
        setup.telnyx.failing = (422, "90018")
        await end_dialogs([left])
        await watch.line.hangup()
        assert told[-1] == {"kind": "dialog over", "leg": "telnyx", "key": watch.line.external_id}
    finally:
        dialogs.tell(None)
