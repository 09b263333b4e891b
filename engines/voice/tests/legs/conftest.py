"""Fixtures of the legs' tests: one SIP stack a process, a peer a test, pipelines on lines."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
import pytest_asyncio
from pipecat.frames.frames import Frame, InputAudioRawFrame, InputDTMFFrame, OutputAudioRawFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.workers.runner import WorkerRunner

from support.ports import free_port
from switchboard_engine.legs import Arrival, Ended, Line, LineEvent, Telephony, TrunkStatus
from switchboard_engine.legs.settings import SipSettings
from switchboard_engine.legs.sip.leg import SipLeg

from .peer import Peer
from .processes import Host
from .sound import Samples

WAIT_S = 10.0
RTP_TIMEOUT_S = 2

either_machine = pytest.mark.parametrize(
    "late_ms", [pytest.param(300, id="busy machine"), pytest.param(0, id="idle machine", marks=pytest.mark.long)]
)
"""A test that measures time holds the bar on an idle machine; a busy one may be late by `late_ms` besides."""

E = TypeVar("E", bound=LineEvent)


def make_certificate(path: Path) -> Path:
    """Write key and certificate of 127.0.0.1, by the openssl program."""
    options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1"
    openssl = ["openssl", "req", *options.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*openssl, "-keyout", path, "-out", f"{path}.crt"], check=True, capture_output=True)  # noqa: S603
    path.write_text(path.read_text() + Path(f"{path}.crt").read_text())
    return path


@dataclass
class Stack:
    """The leg under test, and what it told."""

    leg: SipLeg
    port: int
    statuses: list[TrunkStatus] = field(default_factory=list)
    arrivals: "asyncio.Queue[Arrival]" = field(default_factory=asyncio.Queue)

    @property
    def address(self) -> tuple[str, int]:
        """Where it takes SIP."""
        return ("127.0.0.1", self.port)

    async def arrival(self) -> Arrival:
        """Return the next call to it."""
        return await asyncio.wait_for(self.arrivals.get(), WAIT_S)

    async def status(self, state: str, trunk_id: str) -> TrunkStatus:
        """Wait for a state of a trunk."""
        async with asyncio.timeout(WAIT_S * 2):
            while True:
                for status in self.statuses:
                    if status.trunk_id == trunk_id and status.state == state:
                        return status
                await asyncio.sleep(0.02)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a certificate of 127.0.0.1 that vouches for itself."""
    return make_certificate(tmp_path_factory.mktemp("tls") / "server.pem")


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def stack(certificate: Path) -> AsyncIterator[Stack]:
    """Run the leg on loopback."""
    port = free_port()
    statuses: list[TrunkStatus] = []
    settings = SipSettings(
        "127.0.0.1", port, certificate=str(certificate), ca_file=str(certificate), rtp_timeout_s=RTP_TIMEOUT_S
    )
    leg = SipLeg(settings, statuses.append)
    await leg.start()
    stack = Stack(leg, port, statuses)

    async def collect() -> None:
        async for arrival in leg.incoming():
            stack.arrivals.put_nowait(arrival)

    collecting = asyncio.create_task(collect())
    yield stack
    await leg.stop()
    await asyncio.wait_for(collecting, WAIT_S)


@pytest_asyncio.fixture(loop_scope="session")
async def peer() -> AsyncIterator[Peer]:
    """Start the other side."""
    peer = await Peer.start()
    yield peer
    peer.close()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def host() -> AsyncIterator[Host]:
    """Run the leg in a process of its own, which echoes."""
    host = await Host.run(free_port())
    yield host
    await host.stop()


@pytest.fixture
def trunk(peer: Peer) -> Telephony:
    """A trunk to the peer, without credentials."""
    return Telephony(trunk_id="1", address=peer.address, from_="+12025550100")


class Watch:
    """Reads a line's events as they come."""

    def __init__(self, line: Line) -> None:
        """Start reading."""
        self.line = line
        self.seen: list[LineEvent] = []
        self._changed = asyncio.Event()
        self._task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for event in self.line.events:
            self.seen.append(event)
            self._changed.set()

    async def wait(self, kind: type[E], wait_s: float = WAIT_S) -> E:
        """Return the first event of a kind."""
        async with asyncio.timeout(wait_s):
            while True:
                for event in self.seen:
                    if isinstance(event, kind):
                        return event
                self._changed.clear()
                await self._changed.wait()

    async def ended(self, wait_s: float = WAIT_S) -> Ended:
        """Return how the line ended, and see that its events end there."""
        ended = await self.wait(Ended, wait_s)
        await asyncio.wait_for(self._task, 1)
        assert self.seen[-1] is ended
        return ended


class Tap(FrameProcessor):
    """The middle of a pipeline: keeps what is heard, and says it again where it echoes."""

    def __init__(self, *, echo: bool) -> None:
        """Listen; `echo` answers with the same sound."""
        super().__init__()
        self._echo = echo
        self.heard: list[bytes] = []
        self.keys: list[str] = []

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        """Keep sound and keys; pass everything on."""
        await super().process_frame(frame, direction)
        if isinstance(frame, InputAudioRawFrame):
            self.heard.append(frame.audio)
            if self._echo:
                await self.push_frame(
                    OutputAudioRawFrame(audio=frame.audio, sample_rate=frame.sample_rate, num_channels=1)
                )
            return
        if isinstance(frame, InputDTMFFrame):
            self.keys.append(frame.button.value)
        await self.push_frame(frame, direction)

    def samples(self) -> Samples:
        """Return everything heard, 16 kHz."""
        return np.frombuffer(b"".join(self.heard), dtype=np.int16)


class Conversation:
    """A pipeline on a line: the place of the engine's own."""

    def __init__(self, line: Line, *, echo: bool = False) -> None:
        """Build it; `run` starts it."""
        self.tap = Tap(echo=echo)
        transport = line.transport
        self.worker = PipelineWorker(
            Pipeline([transport.input(), self.tap, transport.output()]),
            params=PipelineParams(audio_in_sample_rate=16_000, audio_out_sample_rate=16_000),
            cancel_on_idle_timeout=False,
        )
        self._runner = WorkerRunner(handle_sigint=False)

    async def start(self) -> None:
        """Run it beside the test."""
        await self._runner.add_workers(self.worker)
        self._task = asyncio.create_task(self._runner.run())

    async def say(self, samples: Samples, rate: int = 16_000) -> None:
        """Queue sound for the customer."""
        await self.worker.queue_frame(OutputAudioRawFrame(audio=samples.tobytes(), sample_rate=rate, num_channels=1))

    async def finished(self) -> None:
        """Wait for its own end."""
        await asyncio.wait_for(asyncio.shield(self._task), WAIT_S)

    async def stop(self) -> None:
        """Cancel it."""
        await self.worker.cancel()
        await asyncio.wait_for(self._task, WAIT_S)


@pytest_asyncio.fixture(loop_scope="session")
async def converse() -> AsyncIterator[Callable[..., "Conversation"]]:
    """Make conversations, and stop them after the test."""
    made: list[Conversation] = []

    def make(line: Line, *, echo: bool = False) -> Conversation:
        conversation = Conversation(line, echo=echo)
        made.append(conversation)
        return conversation

    yield make
    for conversation in made:
        await conversation.stop()
