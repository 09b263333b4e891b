"""Calls that the leg places: every way that they can end, on a real wire."""

import asyncio
from collections.abc import Callable

import pytest

from switchboard_engine.legs import Answered, LegError, Outcome, Quality, Ringing, Telephony

from .conftest import Conversation, Stack, Watch
from .peer import Peer
from .sound import RECOGNISED, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def test_an_answered_call_rings_is_answered_and_carries_sound_both_ways(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation]
) -> None:
    line = await stack.leg.dial(trunk, "+12025550123")
    watch = Watch(line)
    conversation = converse(line)
    await conversation.start()
    called = await peer.taken()
    assert called.invite_request is not None
    assert called.invite_request.first.startswith("INVITE sip:+12025550123@")
    assert "sip:+12025550100@" in called.remote
    assert called.call_id == line.external_id
    await conversation.say(tone(440, 1.0, 16_000), 16_000)
    await called.answer(ring_s=0.1)
    await watch.wait(Answered)
    called.media.play(tone(1000, 1.0))
    await called.media.played()
    await asyncio.sleep(0.3)
    called.bye()
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.COMPLETED)
    assert isinstance(watch.seen[0], Ringing)
    quality = next(event for event in watch.seen if isinstance(event, Quality))
    assert (quality.codec, quality.loss) == ("PCMU", 0.0)
    assert quality.mos > 4
    heard = conversation.tap.samples()
    assert usual_power(heard[8_000:16_000], 1000, 16_000) > RECOGNISED
    said = called.media.samples()
    assert usual_power(said[1_000:7_000], 440) > RECOGNISED


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (486, Outcome.BUSY),
        (600, Outcome.BUSY),
        (603, Outcome.REJECTED),
        (403, Outcome.REJECTED),
        (404, Outcome.UNREACHABLE),
        (503, Outcome.UNREACHABLE),
        (480, Outcome.NO_ANSWER),
    ],
)
async def test_a_refused_call_says_why(
    stack: Stack, peer: Peer, trunk: Telephony, status: int, outcome: Outcome
) -> None:
    watch = Watch(await stack.leg.dial(trunk, "+12025550123"))
    (await peer.taken()).respond(status)
    ended = await watch.ended()
    assert (ended.outcome, ended.status, ended.by) == (outcome, status, "customer")


async def test_nobody_answers(stack: Stack, peer: Peer, trunk: Telephony) -> None:
    watch = Watch(await stack.leg.dial(trunk, "+12025550123", ring_timeout_s=0.3))
    called = await peer.taken()
    called.respond(180)
    await called.expect("CANCEL")
    assert (await watch.ended()).outcome == Outcome.NO_ANSWER


async def test_we_give_up_while_it_rings(stack: Stack, peer: Peer, trunk: Telephony) -> None:
    line = await stack.leg.dial(trunk, "+12025550123")
    watch = Watch(line)
    called = await peer.taken()
    called.respond(180)
    await watch.wait(Ringing)
    await line.hangup()
    await called.expect("CANCEL")
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.CANCELLED)
    await line.hangup()


async def test_nobody_is_there(stack: Stack) -> None:
    nobody = Telephony(trunk_id="2", address="127.0.0.1:1", transport="tcp", from_="+12025550100")
    ended = await Watch(await stack.leg.dial(nobody, "+12025550123")).ended()
    assert (ended.by, ended.outcome, ended.status) == ("engine", Outcome.UNREACHABLE, None)


async def test_we_hang_up(stack: Stack, peer: Peer, trunk: Telephony) -> None:
    line = await stack.leg.dial(trunk, "+12025550123")
    watch = Watch(line)
    called = await peer.taken()
    await called.answer()
    await watch.wait(Answered)
    await line.hangup()
    await called.expect("BYE")
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.COMPLETED)


@pytest.mark.parametrize("number", ["", "1;method=x", "a b", "+1202@example.org", "\r\nVia: x"])
async def test_a_number_that_is_none_is_not_dialed(stack: Stack, peer: Peer, trunk: Telephony, number: str) -> None:
    with pytest.raises(LegError, match="cannot be dialed"):
        await stack.leg.dial(trunk, number)
    assert peer.seen == []


async def test_a_challenge_is_answered_with_the_trunks_credentials(stack: Stack, peer: Peer) -> None:
    peer.credentials = ("carol", "s3cret")
    trunk = Telephony(trunk_id="3", address=peer.address, from_="+12025550100", username="carol", password="s3cret")
    watch = Watch(await stack.leg.dial(trunk, "+12025550123"))
    called = await peer.taken()
    await called.answer()
    await watch.wait(Answered)
    called.bye()
    await watch.ended()


async def test_a_wrong_password_is_told_of_call_and_trunk(stack: Stack, peer: Peer) -> None:
    peer.credentials = ("carol", "s3cret")
    trunk = Telephony(trunk_id="4", address=peer.address, from_="+12025550100", username="carol", password="wrong")
    ended = await Watch(await stack.leg.dial(trunk, "+12025550123")).ended()
    assert (ended.outcome, ended.status) == (Outcome.WRONG_CREDENTIALS, 401)
    status = await stack.status("wrong-credentials", "4")
    assert status.detail == "The trunk refused the user name or password (401 Unauthorized): check both."
