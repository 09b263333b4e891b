"""The leg against SIP programs that neither we nor its library's makers of today wrote."""

import asyncio
import wave
from collections.abc import Callable
from ipaddress import ip_network
from pathlib import Path

import pytest

from support.ports import free_port
from switchboard_engine.legs import Answered, Telephony

from .conftest import Conversation, Stack, Watch
from .processes import Process
from .programs import program
from .sound import HZ, RECOGNISED, Samples, audible, read_wav, tone, usual_power

pytestmark = [pytest.mark.asyncio(loop_scope="session"), pytest.mark.long]

WRITTEN_S = 5.0
"""How long a witness may take to write what it heard."""
SCENARIOS = Path(__file__).parent / "scenarios"


def write_wav(path: Path, samples: Samples) -> None:
    """Write a mono 16-bit file at 8 kHz."""
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(HZ)
        file.writeframes(samples.tobytes())


def dumped(folder: Path) -> Samples | None:
    """Return what the witness heard, by its own record, once it has written that: after the call."""
    files = sorted(folder.glob("dump*-dec.wav"))
    try:
        heard = read_wav(files[0]) if files else None
    except (EOFError, wave.Error):
        return None
    return heard if heard is not None and len(heard) else None


async def test_debians_baresip_answers_hears_and_is_heard(
    stack: Stack, tmp_path: Path, converse: Callable[..., Conversation]
) -> None:
    baresip, port = program("baresip"), free_port()
    write_wav(tmp_path / "says.wav", tone(1000, 5.0))
    modules = "\n".join(f"module {name}.so" for name in ("g711", "aufile", "aubridge", "sndfile"))
    (tmp_path / "config").write_text(
        f"module_path {baresip.root}/usr/lib/baresip/modules\n{modules}\nmodule_app account.so\nmodule_app menu.so\n"
        f"sip_listen 127.0.0.1:{port}\nnet_interface 127.0.0.1\naudio_source aufile,{tmp_path}/says.wav\n"
        f"audio_player aubridge,x\nsnd_path {tmp_path}\n"
    )
    (tmp_path / "accounts").write_text(f"<sip:witness@127.0.0.1:{port}>;regint=0;answermode=auto;audio_codecs=PCMU\n")
    (tmp_path / "contacts").write_text("")
    witness = Process(baresip.path, "-f", tmp_path, env=baresip.env)
    await witness.start()
    try:
        await witness.wrote("baresip is ready")
        trunk = Telephony(trunk_id="w", address=f"127.0.0.1:{port}", from_="+12025550100")
        line = await stack.leg.dial(trunk, "witness")
        watch = Watch(line)
        conversation = converse(line)
        await conversation.start()
        await watch.wait(Answered)
        await conversation.say(tone(440, 2.0, 16_000))
        await asyncio.sleep(2.5)
        await line.hangup()
        await watch.ended()
        await witness.wrote("session closed")
        async with asyncio.timeout(WRITTEN_S):
            while (heard := dumped(tmp_path)) is None:  # noqa: ASYNC110 - a file of another program
                await asyncio.sleep(0.05)
    finally:
        await witness.stop()
    assert usual_power(audible(conversation.tap.samples()), 1000, 16_000) > RECOGNISED
    assert usual_power(audible(heard), 440) > RECOGNISED


async def test_sipp_calls_us_ten_times(stack: Stack, tmp_path: Path) -> None:
    sipp = program("sipp")
    await stack.leg.set_trunks(
        [
            Telephony(
                trunk_id="sipp",
                address="127.0.0.1",
                from_="+12025550100",
                allowed_inbound_ips=(ip_network("127.0.0.1"),),
            )
        ]
    )
    caller = Process(
        sipp.path, "-sf", SCENARIOS / "caller.xml", "-i", "127.0.0.1", "-p", str(free_port()), "-m", "10", "-r", "5",
        "-timeout", "30", "-nostdin", "-trace_err", "-error_file", tmp_path / "errors.log", "-s", "+12025550100",
        f"127.0.0.1:{stack.port}", env=sipp.env,
    )  # fmt: skip
    await caller.start()
    watches = []
    for _ in range(10):
        arrival = await stack.arrival()
        watches.append(Watch(arrival.line))
        await arrival.answer()
    assert await caller.ended() == 0, caller.errors() + (tmp_path / "errors.log").read_text()[-2_000:]
    for watch in watches:
        assert (await watch.ended()).by == "customer"
    await caller.stop()


async def test_sipp_is_called_and_holds(stack: Stack, tmp_path: Path) -> None:
    sipp, port = program("sipp"), free_port()
    callee = Process(
        sipp.path, "-sf", SCENARIOS / "callee.xml", "-i", "127.0.0.1", "-p", str(port), "-m", "1", "-timeout", "30",
        "-nostdin", "-trace_err", "-error_file", tmp_path / "errors.log", env=sipp.env,
    )  # fmt: skip
    await callee.start()
    await asyncio.sleep(1)
    line = await stack.leg.dial(Telephony(trunk_id="s", address=f"127.0.0.1:{port}", from_="+1202"), "+12025550123")
    watch = Watch(line)
    await watch.wait(Answered)
    await line.hold()
    await line.resume()
    # The scenario knows no BYE before the last re-INVITE was answered.
    await asyncio.sleep(0.5)
    await line.hangup()
    await watch.ended()
    assert await callee.ended() == 0, callee.errors()
    await callee.stop()
