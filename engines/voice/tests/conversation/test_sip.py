"""Conversations over real SIP and RTP on loopback, with synthetic speech both ways: what is heard, and how soon."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

import numpy as np
import pytest

from legs.conftest import free_port
from legs.peer import Dialog, Peer
from legs.sound import Samples, audible
from support.fake_service import FakeService, entry
from switchboard_engine.conversation.conversation import Conversation
from switchboard_engine.conversation.warm_up import warm_up
from switchboard_engine.legs.registry import Legs
from switchboard_engine.legs.resample import Resampler
from switchboard_engine.legs.settings import SipSettings
from switchboard_engine.legs.sip.leg import SipLeg
from switchboard_engine.local import LocalServices

from .conftest import TIMING, WAIT_S, assistant
from .script import Say, ScriptedModel
from .voices import espeak, spoken, understood

ANSWERS = ["hello this is anna", "we open at nine", "it was shipped yesterday", "thank you for calling goodbye"]
TURNS = (
    ("what are your opening hours", "We open at nine."),
    ("please look up my order", "It was shipped yesterday."),
    ("thank you goodbye", "Thank you for calling, goodbye."),
)
SILENT_S = 0.3


def telephone(text: str) -> Samples:
    """Return speech as a telephone carries it, 8 kHz, without the silence after it: its end is what is timed."""
    return audible(np.frombuffer(Resampler(16_000, 8_000).process(spoken(text).tobytes()), dtype=np.int16))


@dataclass
class Heard:
    """What one customer heard: the time to the greeting, and to each answer, milliseconds."""

    greeting_ms: float
    answers_ms: list[float]
    sounds: list[Samples]

    @property
    def texts(self) -> list[str]:
        """What was understood of it; not while calls run, whose sound would wait for it."""
        return [understood(sound, ANSWERS) for sound in self.sounds]


async def customer(peer: Peer, ring_s: float) -> Heard:
    """Take a call and go through the turns."""
    dialog = await peer.taken()
    await dialog.answer(ring_s=ring_s)
    answered = time.time()
    first = await sound_after(dialog, answered)
    heard = Heard(1000 * (first - answered), [], [])
    since = answered
    for said, _ in TURNS:
        await silence_of(dialog)
        heard.sounds.append(sound_since(dialog, since))
        dialog.media.play(telephone(said))
        await dialog.media.played()
        since = dialog.media.spoke_until
        heard.answers_ms.append(1000 * (await sound_after(dialog, since) - since))
    await silence_of(dialog)
    heard.sounds.append(sound_since(dialog, since))
    dialog.bye()
    return heard


async def sound_after(dialog: Dialog, since: float) -> float:
    """Wait for the first sound after a moment; returns when it came."""
    async with asyncio.timeout(WAIT_S):
        while (first := dialog.media.first_sound(since)) is None:  # noqa: ASYNC110 - as packets come
            await asyncio.sleep(0.02)
    return first


async def silence_of(dialog: Dialog) -> None:
    """Wait until the assistant has said what it says."""
    async with asyncio.timeout(WAIT_S):
        while (last := dialog.media.last_sound()) is None or time.time() - last < SILENT_S:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


def sound_since(dialog: Dialog, since: float) -> Samples:
    """Return what was heard from a moment on, 16 kHz."""
    heard = audible(dialog.media.samples(since))
    return np.frombuffer(Resampler(8_000, 16_000).process(heard.tobytes()), dtype=np.int16)


@pytest.fixture
async def model(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ScriptedModel]:
    """Answer the turns."""
    monkeypatch.setenv("SWITCHBOARD_ENGINE_ESPEAK", espeak())
    async with ScriptedModel({said: Say(answer) for said, answer in TURNS}) as model:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        yield model


async def hold(service: FakeService, peers: list[Peer]) -> list[Heard]:
    """Hold a conversation with each peer at the same time, on one SIP stack."""
    from support.engines import engine_of  # noqa: PLC0415

    await warm_up()
    async with engine_of(service, timing=TIMING) as engine, Legs(engine, _nobody, {}) as legs:
        leg = SipLeg(SipSettings("127.0.0.1", free_port()), legs.on_trunk)
        await leg.start()
        legs.add("sip", leg)
        for number, peer in enumerate(peers, start=1):
            offered = entry(number)
            offered["assistant"] = assistant(phrases=[said for said, _ in TURNS])
            offered["telephony"] = {
                "kind": "sip", "trunk_id": number, "dial": "+12025550123", "address": peer.address, "from": "+1",
            }  # fmt: skip
            service.queue.append(offered)
        service.wake()
        services = LocalServices()
        calls = [await anext(engine.calls()) for _ in peers]
        conversing = [asyncio.create_task(Conversation(call, services, legs).run()) for call in calls]
        try:
            heard = await asyncio.gather(*(customer(peer, 0.5 + 0.7 * nth) for nth, peer in enumerate(peers)))
            await asyncio.wait_for(asyncio.gather(*conversing), WAIT_S)
        finally:
            for task in conversing:
                task.cancel()
            await asyncio.gather(*conversing, return_exceptions=True)
            await leg.stop()
    return heard


async def _nobody(_: object) -> None:
    raise AssertionError("nobody calls")


@pytest.mark.long
async def test_a_conversation_over_the_telephone(service: FakeService, model: ScriptedModel) -> None:
    peer = await Peer.start()
    try:
        (heard,) = await hold(service, [peer])
    finally:
        peer.close()
    print(f"greeting {heard.greeting_ms:.0f} ms, answers {heard.answers_ms} ms")
    assert heard.texts == ANSWERS
    call = service.calls[1]
    assert call.status == "ended_by_customer"
    said = [event["text"] for event in call.of("transcript") if event["sender"] == "human"]
    assert said == [said for said, _ in TURNS]
    assert len(model.requests) == len(TURNS)
    assert call.of("quality")[0]["codec"] == "PCMU"


@pytest.mark.long
async def test_answers_come_soon_with_five_calls(service: FakeService, model: ScriptedModel) -> None:
    peers = [await Peer.start() for _ in range(5)]
    try:
        heard = await hold(service, peers)
    finally:
        for peer in peers:
            peer.close()
    answers = sorted(ms for one in heard for ms in one.answers_ms)
    greetings = sorted(one.greeting_ms for one in heard)
    p50, p95 = statistics.median(answers), answers[int(0.95 * len(answers))]
    print(f"answers p50 {p50:.0f} p95 {p95:.0f} ms, greetings p50 {statistics.median(greetings):.0f} ms")
    assert all(one.texts == ANSWERS for one in heard)
    assert len(model.requests) == 5 * len(TURNS)
    assert p50 <= 650
    assert p95 <= 800
    assert statistics.median(greetings) <= 300
