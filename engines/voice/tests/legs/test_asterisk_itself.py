"""The Asterisk leg against Asterisk 22, with a scripted peer as its trunk."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from pipecat.frames.frames import InterruptionFrame

from support.ports import free_port
from switchboard_engine.legs import Answered, Arrival, Dtmf, Outcome, Ringing, Telephony, Transferred
from switchboard_engine.legs.asterisk.leg import AsteriskLeg
from switchboard_engine.legs.settings import AsteriskSettings

from .conftest import Conversation, Watch
from .peer import Dialog, Peer
from .processes import Process
from .programs import asterisk, asterisk_command
from .sound import RECOGNISED, audible, tone, usual_power

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

OURS, THEIRS = "+12025550100", "+12025550123"
NO_MODULES = ("chan_iax2", "res_phoneprov", "app_amd", "app_followme", "app_queue", "res_prometheus")


def configure(folder: Path, root: Path, http: int, sip: int, trunk: int) -> Path:
    """Write a configuration; returns its main file."""
    modules = next(root.glob("usr/lib/*-linux-gnu/asterisk/modules"))
    own = "".join(
        f"{name} => {folder}\n" for name in ("astetcdir", "astvarlibdir", "astdbdir", "astkeydir", "astagidir",
                                             "astspooldir", "astrundir", "astlogdir", "astcachedir")
    )  # fmt: skip
    files = {
        "asterisk.conf": f"[directories]\n{own}astmoddir => {modules}\nastdatadir => {root}/usr/share/asterisk\n",
        "modules.conf": "[modules]\nautoload=yes\n" + "".join(f"noload={name}.so\n" for name in NO_MODULES),
        "logger.conf": "[general]\n[logfiles]\nconsole => notice,warning,error\n",
        "http.conf": f"[general]\nenabled=yes\nbindaddr=127.0.0.1\nbindport={http}\n",
        "ari.conf": "[general]\nenabled=yes\n[engine]\ntype=user\npassword=secret\n",
        "rtp.conf": "[general]\nrtpstart=21000\nrtpend=21500\n",
        "pjsip.conf": (
            f"[udp]\ntype=transport\nprotocol=udp\nbind=127.0.0.1:{sip}\n"
            "[trunk-4]\ntype=endpoint\naors=trunk-4\ncontext=inbound\ndisallow=all\nallow=ulaw\ndirect_media=no\n"
            f"[trunk-4]\ntype=aor\ncontact=sip:127.0.0.1:{trunk}\n"
            "[trunk-4]\ntype=identify\nendpoint=trunk-4\nmatch=127.0.0.1\n"
        ),
        "extensions.conf": (
            "[inbound]\nexten => _[+0-9].,1,Stasis(switchboard,4)\n same => n,Hangup()\n"
            "[switchboard-transfer]\nexten => _[+0-9].,1,Dial(PJSIP/${EXTEN}@trunk-4,30)\n same => n,Hangup()\n"
        ),
    }
    for name, content in files.items():
        (folder / name).write_text(content)
    return folder / "asterisk.conf"


@dataclass
class Setup:
    """The leg, the Asterisk, and the trunk behind it."""

    leg: AsteriskLeg
    peer: Peer
    address: tuple[str, int]
    trunk: Telephony
    asterisk: Process

    async def call(self, to: str = OURS) -> Dialog:
        """Have the peer call."""
        return await self.peer.call(f"sip:{to}@127.0.0.1:{self.address[1]}", self.address)

    async def arrival(self) -> Arrival:
        """Return the next call."""
        return await asyncio.wait_for(anext(self.leg.incoming()), 10)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def setup(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Setup]:
    """Run Asterisk for all tests of this file."""
    program, folder = asterisk(), tmp_path_factory.mktemp("asterisk")
    peer, http, sip = await Peer.start(), free_port(), free_port()
    config = configure(folder, program.root, http, sip, peer.port)
    process = Process(*asterisk_command(program), "-f", "-n", "-C", config, "-vvv")
    await process.start()
    try:
        await process.wrote("Asterisk Ready.")
        leg = AsteriskLeg(AsteriskSettings(f"http://127.0.0.1:{http}", "engine", "secret"), print)
        await leg.start()
        trunk = Telephony(trunk_id="4", address=peer.address, from_=OURS)
        yield Setup(leg, peer, ("127.0.0.1", sip), trunk, process)
        await leg.stop()
    finally:
        await process.stop()
        peer.close()


async def test_a_call_goes_out(setup: Setup, converse: Callable[..., Conversation]) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, THEIRS))
    dialog = await setup.peer.taken()
    assert dialog.invite_request is not None
    assert f"sip:{THEIRS}@" in dialog.invite_request.first
    assert OURS in dialog.remote
    conversation = converse(watch.line)
    await conversation.start()
    await dialog.answer(ring_s=0.3)
    await watch.wait(Answered)
    assert [type(event) for event in watch.seen] == [Ringing, Answered]
    await conversation.say(tone(440, 1.5, 24_000), 24_000)
    dialog.media.play(tone(1000, 1.5))
    await asyncio.sleep(1.8)
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    assert usual_power(audible(dialog.media.samples()), 440) > RECOGNISED
    dialog.media.press("7#")
    await watch.wait(Dtmf)
    await asyncio.sleep(0.7)
    assert [event.digit for event in watch.seen if isinstance(event, Dtmf)] == ["7", "#"]
    await watch.line.send_dtmf("25")
    await asyncio.sleep(0.3)
    assert dialog.media.keys == ["2", "5"]
    await watch.line.hold()
    await watch.line.resume()
    await watch.line.hangup()
    await dialog.expect("BYE")
    assert (await watch.ended()).by == "assistant"


@pytest.mark.parametrize(
    ("status", "outcome"), [(486, Outcome.BUSY), (404, Outcome.UNREACHABLE), (603, Outcome.REJECTED)]
)
async def test_a_call_is_refused(setup: Setup, status: int, outcome: Outcome) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, THEIRS))
    dialog = await setup.peer.taken()
    dialog.respond(status)
    assert (await watch.ended()).outcome == outcome


async def test_a_call_is_given_up_and_cancelled(setup: Setup) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, THEIRS))
    dialog = await setup.peer.taken()
    dialog.respond(180)
    await watch.wait(Ringing)
    await watch.line.hangup()
    await dialog.expect("CANCEL")
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("assistant", Outcome.CANCELLED)


async def test_a_call_comes_in(setup: Setup, converse: Callable[..., Conversation]) -> None:
    calling = asyncio.create_task(setup.call())
    arrival = await setup.arrival()
    dialog = await calling
    assert dialog.last.status == 180
    assert (arrival.from_, arrival.to, arrival.trunk_id) == ("+15550100", OURS, "4")
    conversation = converse(arrival.line)
    await conversation.start()
    watch = Watch(await arrival.answer())
    assert (await dialog.final()).status == 200
    await watch.wait(Answered)
    dialog.media.play(tone(1000, 1.0))
    await conversation.say(tone(440, 1.0, 16_000))
    await asyncio.sleep(1.3)
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    assert usual_power(audible(dialog.media.samples()), 440) > RECOGNISED
    dialog.bye()
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.COMPLETED)


async def test_a_call_that_comes_in_is_refused_or_given_up(setup: Setup) -> None:
    calling = asyncio.create_task(setup.call())
    arrival = await setup.arrival()
    dialog = await calling
    await arrival.reject(486)
    assert (await dialog.final()).status == 486
    calling = asyncio.create_task(setup.call())
    watch = Watch((await setup.arrival()).line)
    (await calling).cancel()
    ended = await watch.ended()
    assert (ended.by, ended.outcome) == ("customer", Outcome.CANCELLED)


async def test_an_interruption_silences(setup: Setup, converse: Callable[..., Conversation]) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, THEIRS))
    dialog = await setup.peer.taken()
    conversation = converse(watch.line)
    await conversation.start()
    await dialog.answer()
    await watch.wait(Answered)
    await conversation.say(tone(440, 3.0, 16_000))
    await asyncio.sleep(0.8)
    interrupted_at = time.time()
    await conversation.worker.queue_frame(InterruptionFrame())
    await asyncio.sleep(0.6)
    last = dialog.media.last_sound()
    assert last is not None
    assert 1000 * (last - interrupted_at) < 250
    await watch.line.hangup()


async def test_a_transfer_is_the_dialplans(setup: Setup) -> None:
    watch = Watch(await setup.leg.dial(setup.trunk, THEIRS))
    first = await setup.peer.taken()
    await first.answer()
    await watch.wait(Answered)
    assert await watch.line.transfer("+12025550199") == Transferred("+12025550199", "accepted")
    assert (await watch.ended()).outcome == Outcome.TRANSFERRED
    second = await setup.peer.taken()
    assert second.invite_request is not None
    assert "+12025550199" in second.invite_request.first
    await second.answer()
    first.bye()
    await second.expect("BYE")
