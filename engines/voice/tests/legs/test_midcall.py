"""What happens while a line is up."""

import asyncio
import time
from collections.abc import Callable

import pytest
from pipecat.frames.frames import InterruptionFrame

from switchboard_engine.legs import (
    Answered,
    Dtmf,
    Hold,
    LegError,
    Line,
    Outcome,
    Quality,
    Resume,
    Telephony,
    Transferred,
)
from switchboard_engine.legs.sip.line import SipLine

from .conftest import Conversation, Stack, Watch, either_machine
from .peer import Dialog, Peer
from .sound import AUDIBLE, RECOGNISED, audible, loudness, power, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def connect(stack: Stack, peer: Peer, trunk: Telephony) -> tuple[Line, Watch, Dialog]:
    """Return an answered line and its other end."""
    line = await stack.leg.dial(trunk, "+12025550123")
    watch = Watch(line)
    called = await peer.taken()
    await called.answer()
    await watch.wait(Answered)
    return line, watch, called


async def test_keys_go_both_ways(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation]
) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    conversation = converse(line)
    await conversation.start()
    await line.send_dtmf("12#")
    called.media.press("9*0", 120)
    await called.media.played()
    await asyncio.sleep(0.2)
    assert called.media.keys == ["1", "2", "#"]
    pressed = [event for event in watch.seen if isinstance(event, Dtmf)]
    assert [key.digit for key in pressed] == ["9", "*", "0"]
    assert all(80 <= key.duration_ms <= 300 for key in pressed)
    assert conversation.tap.keys == ["9", "*", "0"]
    with pytest.raises(ValueError, match="DTMF"):
        await line.send_dtmf("1x")
    await line.hangup()
    await watch.ended()
    with pytest.raises(LegError):
        await line.send_dtmf("1")


@either_machine
async def test_we_hold_and_resume(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation], late_ms: int
) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    conversation = converse(line)
    await conversation.start()
    await line.hold()
    await called.expect("INVITE")
    assert "a=sendonly" in called.offers[-1]
    held_at = time.time()
    # What is said meanwhile is not heard, now or later, but packets go on: a NAT and the peer want them.
    await conversation.say(tone(700, 0.4, 16_000))
    await asyncio.sleep(0.8)
    packets = [packet for packet in called.media.audio() if packet.at > held_at]
    assert len(packets) > 30
    assert called.media.longest_gap_ms() < 200 + late_ms
    assert loudness(called.media.samples(held_at + 0.1)) < AUDIBLE
    await line.resume()
    await called.expect("INVITE")
    assert "a=sendrecv" in called.offers[-1]
    await asyncio.sleep(0.1)
    since = time.time()
    await conversation.say(tone(440, 0.4, 16_000))
    called.media.play(tone(1000, 0.4))
    await called.media.played()
    await asyncio.sleep(0.1)
    assert usual_power(audible(called.media.samples(since)), 440) > RECOGNISED
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    await line.hangup()
    await watch.ended()


async def test_the_customer_holds_and_resumes(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation]
) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    conversation = converse(line)
    await conversation.start()
    assert (await called.invite(direction="sendonly")).status == 200
    await watch.wait(Hold)
    # Audio said to nobody passes at its own pace, and is not heard later.
    await conversation.say(tone(440, 0.5, 16_000))
    await asyncio.sleep(1.0)
    assert (await called.invite(direction="sendrecv")).status == 200
    await watch.wait(Resume)
    await asyncio.sleep(0.2)
    since = time.time()
    await conversation.say(tone(700, 0.4, 16_000))
    await asyncio.sleep(0.7)
    heard = audible(called.media.samples(since))
    assert usual_power(heard, 700) > RECOGNISED
    assert power(heard, 440) < 0.02
    called.bye()
    await watch.ended()


async def test_a_transfer_that_is_accepted_ends_the_line(stack: Stack, peer: Peer, trunk: Telephony) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    assert await line.transfer("+12025550199") == Transferred("+12025550199", "accepted")
    refer = await called.expect("REFER")
    assert f"sip:+12025550199@{peer.address}" in refer["refer-to"]
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.TRANSFERRED)
    assert Transferred("+12025550199", "accepted") in watch.seen


@pytest.mark.parametrize(("refer", "notify"), [(202, 486), (603, 200)])
async def test_a_transfer_that_fails_leaves_the_line(
    stack: Stack, peer: Peer, trunk: Telephony, refer: int, notify: int
) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    peer.refer_status, peer.notify_status = refer, notify
    result = await line.transfer("+12025550199")
    assert result.status == "failed"
    assert (await watch.wait(Transferred)) == result
    await line.send_dtmf("1")
    assert called.media.keys == ["1"]
    await line.hangup()
    await watch.ended()


async def test_a_warm_transfer_names_the_consultation(stack: Stack, peer: Peer, trunk: Telephony) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    consultation, consulted, agent = await connect(stack, peer, trunk)
    result = await line.transfer("+12025550199", "warm", consultation=consultation)
    assert result.status == "accepted"
    refer = await called.expect("REFER")
    assert "replaces=" in refer["refer-to"].lower()
    assert agent.call_id.partition("@")[0] in refer["refer-to"]
    await watch.ended()
    await consultation.hangup()
    await consulted.ended()
    with pytest.raises(LegError):
        await line.transfer("+12025550199", "warm")


@either_machine
async def test_a_renegotiation_keeps_the_sound(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation], late_ms: int
) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    conversation = converse(line, echo=True)
    await conversation.start()
    assert (await called.invite()).status == 200
    await asyncio.sleep(0.2)
    since = time.time()
    called.media.play(tone(800, 0.6))
    await called.media.played()
    await asyncio.sleep(0.3)
    assert usual_power(audible(called.media.samples(since)), 800) > RECOGNISED
    assert called.media.longest_gap_ms() < 100 + late_ms
    await line.hangup()
    await watch.ended()


async def test_a_line_without_media_ends(stack: Stack, peer: Peer, trunk: Telephony) -> None:
    _, watch, called = await connect(stack, peer, trunk)
    await asyncio.sleep(0.2)
    called.media.muted = True
    ended = await watch.ended(wait_s=8)
    assert (ended.by, ended.outcome) == ("engine", Outcome.MEDIA_TIMEOUT)
    await called.expect("BYE")


async def test_lost_packets_are_counted(stack: Stack, peer: Peer, trunk: Telephony) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    called.media.loss = 0.2
    called.media.play(tone(1000, 3.0))
    await called.media.played()
    await line.hangup()
    await watch.ended()
    quality = next(event for event in watch.seen if isinstance(event, Quality))
    assert 0.1 < quality.loss < 0.3
    assert quality.mos < 2.5


@either_machine
async def test_packets_that_come_unevenly_are_heard_whole(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation], late_ms: int
) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    conversation = converse(line)
    await conversation.start()
    called.media.jitter_ms = 20
    await asyncio.sleep(1.0)
    called.media.play(tone(1000, 2.0))
    await called.media.played()
    await asyncio.sleep(0.3)
    heard = audible(conversation.tap.samples())
    assert len(heard) / 16_000 == pytest.approx(2.0, abs=0.05 + late_ms / 1000)
    pieces = [heard[at : at + 800] for at in range(0, len(heard) - 800, 800)]
    # On a busy machine, sound may come too late.
    wrong = sum(power(piece, 1000, 16_000) <= RECOGNISED for piece in pieces)
    assert wrong < 0.1 * len(pieces) + late_ms / 50
    await line.hangup()
    await watch.ended()


@either_machine
async def test_an_interruption_silences_at_once(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation], late_ms: int
) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    conversation = converse(line)
    await conversation.start()
    await conversation.say(tone(440, 5.0, 24_000), 24_000)
    await asyncio.sleep(1.0)
    assert loudness(called.media.samples()[-1_600:]) > 1000
    interrupted_at = time.time()
    await conversation.worker.queue_frame(InterruptionFrame())
    await asyncio.sleep(0.5)
    last = called.media.last_sound()
    assert last is not None
    assert 1000 * (last - interrupted_at) < 100 + late_ms
    # And what is said next comes without any of the old.
    since = time.time()
    await conversation.say(tone(700, 0.4, 24_000), 24_000)
    await asyncio.sleep(0.7)
    heard = audible(called.media.samples(since))
    assert power(heard, 440) < 0.02
    assert usual_power(heard, 700) > RECOGNISED
    await line.hangup()
    await watch.ended()


@either_machine
async def test_what_is_said_passes_at_the_pace_of_its_sound(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation], late_ms: int
) -> None:
    line, watch, called = await connect(stack, peer, trunk)
    conversation = converse(line)
    await conversation.start()
    await conversation.say(tone(440, 2.0, 16_000))
    queued_ms = []
    for _ in range(120):
        assert isinstance(line, SipLine)
        queued_ms.append(line.call.audio.info().tx_buffered / 16)
        await asyncio.sleep(0.02)
    assert 0 < max(queued_ms) <= 40
    heard = called.media.samples()
    assert len(audible(heard)) / 8000 == pytest.approx(2.0, abs=0.2)
    assert called.media.longest_gap_ms() < 100 + late_ms
    await line.hangup()
    await watch.ended()
