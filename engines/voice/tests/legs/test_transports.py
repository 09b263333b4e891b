"""TCP, TLS and SRTP, against the leg in a process of its own; and several calls at once."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from support.ports import free_port
from switchboard_engine.legs import Answered, Outcome, Quality, Telephony
from switchboard_engine.legs.sip import account

from .conftest import Conversation, Stack, Watch, either_machine, make_certificate
from .peer import Dialog, Peer
from .processes import Host
from .sound import RECOGNISED, audible, tone, usual_power

pytestmark = pytest.mark.asyncio(loop_scope="session")

WIRE = "switchboard_engine.legs.sip.wire"


OFFERS = {"PCMA": "pcma", "G722": "g722/16000/1"}


async def hears_itself(stack: Stack, trunk: Telephony, converse: Callable[..., Conversation]) -> Watch:
    """Call the echo and see that the sound comes back."""
    line = await stack.leg.dial(trunk, "+12025550100")
    watch = Watch(line)
    conversation = converse(line)
    await conversation.start()
    await watch.wait(Answered)
    await conversation.say(tone(600, 0.6, 16_000))
    await asyncio.sleep(1.2)
    assert usual_power(audible(conversation.tap.samples()), 600, 16_000) > RECOGNISED
    await line.hangup()
    await watch.ended()
    return watch


async def test_a_call_over_tcp(stack: Stack, host: Host, converse: Callable[..., Conversation]) -> None:
    trunk = Telephony(trunk_id="tcp", address=f"127.0.0.1:{host.port}", transport="tcp", from_="+1202")
    await hears_itself(stack, trunk, converse)


@pytest.mark.parametrize("codec", OFFERS)
async def test_a_call_in_another_codec(
    stack: Stack,
    host: Host,
    converse: Callable[..., Conversation],
    monkeypatch: pytest.MonkeyPatch,
    codec: str,
) -> None:
    monkeypatch.setattr(account, "CODECS", (OFFERS[codec],))
    trunk = Telephony(trunk_id=codec, address=f"127.0.0.1:{host.port}", from_="+1202")
    watch = await hears_itself(stack, trunk, converse)
    assert next(event.codec for event in watch.seen if isinstance(event, Quality)) == codec


async def test_a_call_over_tls_with_srtp(
    stack: Stack,
    certificate: Path,
    converse: Callable[..., Conversation],
    caplog: pytest.LogCaptureFixture,
) -> None:
    host = await Host.run(free_port(), str(certificate))
    try:
        trunk = Telephony(
            trunk_id="tls", address=f"127.0.0.1:{host.port + 1}", transport="tls", from_="+1202", srtp="required"
        )
        with caplog.at_level(logging.DEBUG, WIRE):
            await hears_itself(stack, trunk, converse)
        answer = next(
            record.getMessage() for record in caplog.records if "SIP/2.0 200 Answering" in record.getMessage()
        )
        assert "RTP/SAVP " in answer
        assert "a=crypto: ..." in answer
        assert "inline:" not in caplog.text
        plain = await stack.leg.dial(replace(trunk, srtp="off"), "+12025550100")
        watch = Watch(plain)
        await watch.wait(Answered)
        await plain.hangup()
        await watch.ended()
    finally:
        await host.stop()


async def test_a_certificate_that_nobody_vouches_for_is_refused(stack: Stack, tmp_path: Path) -> None:
    host = await Host.run(free_port(), str(make_certificate(tmp_path / "other.pem")))
    try:
        trunk = Telephony(trunk_id="x", address=f"127.0.0.1:{host.port + 1}", transport="tls", from_="+1202")
        ended = await Watch(await stack.leg.dial(trunk, "+12025550100")).ended()
        assert ended.outcome == Outcome.UNREACHABLE
    finally:
        await host.stop()


@either_machine
async def test_five_calls_at_once_have_no_gap(
    stack: Stack, peer: Peer, trunk: Telephony, converse: Callable[..., Conversation], late_ms: int
) -> None:
    async def one(number: int) -> tuple[float, float]:
        line = await stack.leg.dial(trunk, f"+1202555010{number}")
        watch = Watch(line)
        conversation = converse(line, echo=True)
        await conversation.start()
        await watch.wait(Answered)
        dialog: Dialog = peer.dialogs[line.external_id]
        await asyncio.sleep(0.3)
        delays = []
        for _ in range(3):
            delays.append(await dialog.media.echo_ms(tone(500 + 100 * number, 0.4)))
        heard = audible(dialog.media.samples()[-8_000:])
        shares = [usual_power(heard, 500 + 100 * other) for other in range(5)]
        assert shares[number] > RECOGNISED
        assert sum(shares) - shares[number] < 0.1
        await line.hangup()
        await watch.ended()
        return dialog.media.longest_gap_ms(), sorted(delays)[1]

    async def answer() -> None:
        for _ in range(5):
            await (await peer.taken()).answer()

    answering = asyncio.create_task(answer())
    results = await asyncio.gather(*(one(number) for number in range(5)))
    await answering
    assert max(gap for gap, _ in results) < 100 + late_ms
    # Through the leg, the pipeline and the leg again.
    assert sorted(delay for _, delay in results)[2] < 200 + late_ms
