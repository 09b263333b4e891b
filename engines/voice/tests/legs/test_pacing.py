"""What leaves for the stack, and when, on a stack that is played."""

import asyncio
import time
from dataclasses import dataclass

import pytest
from baresip import AudioNotActive, AudioRestarted

from switchboard_engine.legs.sip.audio import QUEUED_MS_MAX, STALLED_S, SipAudio

from .conftest import WAIT_S, either_machine

pytestmark = pytest.mark.asyncio(loop_scope="session")

HZ = 8_000
MS = HZ // 1000 * 2


@dataclass
class Info:
    """What the stack says of itself."""

    tx_sample_rate: int
    rx_sample_rate: int
    tx_buffered: int


class Stack:
    """Buffers of the stack that drain only when a test says so."""

    def __init__(self) -> None:
        self.queued = b""
        self.written = 0
        self.received = b""
        self.fault: Exception | None = None

    def info(self) -> Info:
        if isinstance(self.fault, AudioNotActive):
            raise self.fault
        return Info(HZ, HZ, len(self.queued))

    def write(self, pcm: bytes) -> int:
        if self.fault:
            raise self.fault
        self.queued += pcm
        self.written += len(pcm)
        return len(pcm)

    def read(self, _max_bytes: int) -> bytes:
        received, self.received = self.received, b""
        return received

    def flush_tx(self) -> None:
        if self.fault:
            raise self.fault
        self.queued = b""


@pytest.fixture
def stack() -> Stack:
    return Stack()


@pytest.fixture
def audio(stack: Stack) -> SipAudio:
    """An answered line's."""
    audio = SipAudio(stack)  # type: ignore[arg-type]
    audio.open()
    return audio


def sound(milliseconds: int) -> bytes:
    return bytes(range(1, 1 + 2)) * (HZ * milliseconds // 1000)


async def test_no_more_is_queued_than_can_be_taken_back(stack: Stack, audio: SipAudio) -> None:
    writing = asyncio.create_task(audio.write(sound(200), HZ))
    await asyncio.sleep(0.05)
    assert len(stack.queued) == QUEUED_MS_MAX * MS
    stack.queued = b""
    await asyncio.sleep(0.05)
    assert stack.written == 2 * QUEUED_MS_MAX * MS
    audio.close()
    assert await writing is False


async def test_a_flush_also_drops_what_waits_to_be_queued(
    stack: Stack, audio: SipAudio, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard_engine.legs.sip.audio.STALLED_S", 10 * WAIT_S)
    writing = asyncio.create_task(audio.write(sound(200), HZ))
    await asyncio.sleep(0.05)
    audio.flush()
    assert await asyncio.wait_for(writing, WAIT_S) is True
    assert (stack.queued, stack.written) == (b"", QUEUED_MS_MAX * MS)


@either_machine
async def test_a_stack_that_takes_nothing_holds_nobody_up(stack: Stack, audio: SipAudio, late_ms: int) -> None:
    began = time.monotonic()
    assert await audio.write(sound(60), HZ) is True
    assert STALLED_S <= time.monotonic() - began < STALLED_S + 0.2 + late_ms / 1000
    assert stack.queued == b""


async def test_before_the_answer_it_waits(stack: Stack) -> None:
    audio = SipAudio(stack)  # type: ignore[arg-type]
    stack.received = sound(20)
    writing = asyncio.create_task(audio.write(sound(20), HZ))
    await asyncio.sleep(0.05)
    assert stack.written == 0
    audio.open()
    assert audio.read() == b""  # ringing tone is not the customer
    assert await asyncio.wait_for(writing, WAIT_S) is True


@pytest.mark.parametrize("fault", [AudioNotActive("gone"), AudioRestarted("renegotiated")])
async def test_audio_that_is_renegotiated_comes_back(stack: Stack, audio: SipAudio, fault: Exception) -> None:
    stack.fault = fault
    writing = asyncio.create_task(audio.write(sound(20), HZ))
    await asyncio.sleep(0.05)
    stack.fault = None
    assert await asyncio.wait_for(writing, 0.5) is True
    await audio.write(sound(20), HZ)
    assert stack.written >= 20 * MS


async def test_a_line_that_is_over_takes_nothing(stack: Stack, audio: SipAudio) -> None:
    audio.close()
    assert await audio.write(sound(20), HZ) is False
    assert stack.written == 0
    assert not audio.flows
