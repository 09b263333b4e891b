"""A line in memory, in real time: like a telephone without a network, whose other end is played and recorded here."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping

import numpy as np
from pipecat.frames.frames import BotStartedSpeakingFrame, BotStoppedSpeakingFrame, Frame
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.transports.base_transport import BaseTransport

from legs.sound import Samples
from switchboard_engine.legs import (
    Answered,
    Arrival,
    Dtmf,
    Ended,
    Leg,
    LegError,
    Line,
    LineEvent,
    Outcome,
    Quality,
    Ringing,
    Telephony,
    Transferred,
)
from switchboard_engine.legs.leg import Party, TransferMode, until_ended
from switchboard_engine.legs.transport import PIPELINE_HZ, LineTransport

AUDIBLE = 300.0
AHEAD_S = 0.04


class MemoryAudio:
    """The `LineAudio` of a line in memory."""

    def __init__(self) -> None:
        self.heard: list[tuple[float, bytes]] = []
        """What the customer hears, with the time at which each piece begins to sound."""
        self._opened = asyncio.Event()
        self._closed = False
        self._speech = b""
        self._read_until = 0.0
        self._played_until = 0.0
        self._flushes = 0
        self.spoke_until = 0.0
        self.frozen = False

    def open(self) -> None:
        self._read_until = time.monotonic()
        self._opened.set()

    def close(self) -> None:
        self._closed = True
        self._opened.set()

    @property
    def flows(self) -> bool:
        return self._opened.is_set() and not self._closed

    def play(self, samples: Samples) -> None:
        """Have the customer say something, 16 kHz, behind what they are saying."""
        self._speech += samples.tobytes()

    async def played(self) -> None:
        """Wait until the customer has said everything."""
        while self._speech:  # noqa: ASYNC110 - as the reader takes it
            await asyncio.sleep(0.01)

    def read(self) -> bytes:
        now = time.monotonic()
        count = int((now - self._read_until) * PIPELINE_HZ) * 2
        self._read_until += count / 2 / PIPELINE_HZ
        said, self._speech = self._speech[:count], self._speech[count:]
        if said:
            self.spoke_until = now
        return said + bytes(count - len(said))

    async def write(self, pcm: bytes, sample_hz: int) -> bool:
        assert sample_hz == PIPELINE_HZ
        await self._opened.wait()
        now, flushes = time.monotonic(), self._flushes
        begins = max(self._played_until, now)
        if self._closed:
            return False
        self.heard.append((begins, pcm))
        self._played_until = begins + len(pcm) / 2 / sample_hz
        while self._flushes == flushes:
            if self._closed:
                return False
            left = self._played_until - time.monotonic() - AHEAD_S
            if left <= 0:
                break
            await asyncio.sleep(min(left, 0.02))
        return True

    async def drain(self) -> None:
        await asyncio.sleep(max(0.0, self._played_until - time.monotonic()))

    def flush(self) -> None:
        now = time.monotonic()
        self._flushes += 1
        self.heard = [(at, pcm) for at, pcm in self.heard if at <= now]
        self._played_until = min(self._played_until, now)

    def samples(self, since: float = 0.0) -> Samples:
        """Return what was heard from a moment on, with its silences."""
        pieces = [(at, np.frombuffer(pcm, dtype=np.int16)) for at, pcm in self.heard if at >= since]
        if not pieces:
            return np.zeros(0, dtype=np.int16)
        begin = pieces[0][0]
        end = pieces[-1][0] + len(pieces[-1][1]) / PIPELINE_HZ
        sound = np.zeros(int((end - begin) * PIPELINE_HZ) + 2_000, dtype=np.int16)
        for at, piece in pieces:
            place = int((at - begin) * PIPELINE_HZ)
            sound[place : place + len(piece)] = piece
        return sound

    def first_sound(self, since: float) -> float | None:
        """Return when the first audible piece after a moment began to sound."""
        return next((at for at, pcm in self.heard if at >= since and audible(pcm)), None)

    def sound_seconds(self, since: float) -> float:
        """Return how much sound the customer has heard from a moment on, without silences."""
        now = time.monotonic()
        return sum(len(pcm) / 2 / PIPELINE_HZ for at, pcm in self.heard if since <= at <= now and audible(pcm))

    def last_sound(self) -> float | None:
        return next((at for at, pcm in reversed(self.heard) if audible(pcm)), None)


def audible(pcm: bytes) -> bool:
    samples = np.frombuffer(pcm, dtype=np.int16).astype(np.float64)
    return len(samples) > 0 and float(np.sqrt(np.mean(samples**2))) > AUDIBLE


class MemoryLine(Line):
    """A `Line` whose other end is the test."""

    def __init__(self, leg: "MemoryLeg", to: str) -> None:
        self.leg, self.to = leg, to
        self.audio = MemoryAudio()
        self.keys: list[str] = []
        self.transfers: list[tuple[str, str, Line | None]] = []
        self.held = False
        self.quiet = asyncio.Event()
        """Set while Pipecat does not take the assistant for speaking."""
        self.quiet.set()
        self._transport = LineTransport(self.audio, self.send_dtmf)
        # What it tells upstream comes here last.
        self._transport.input().add_event_handler("on_before_process_frame", self._note)
        self._queue: asyncio.Queue[LineEvent] = asyncio.Queue()
        self.answered = False
        self.ended: Ended | None = None
        self.over = asyncio.Event()

    @property
    def external_id(self) -> str:
        return f"memory-{id(self)}"

    @property
    def transport(self) -> BaseTransport:
        return self._transport

    @property
    def events(self) -> AsyncIterator[LineEvent]:
        return until_ended(self._queue)

    async def _note(self, processor: FrameProcessor, frame: Frame) -> None:
        del processor
        if isinstance(frame, BotStartedSpeakingFrame):
            self.quiet.clear()
        elif isinstance(frame, BotStoppedSpeakingFrame):
            self.quiet.set()

    def happens(self, event: LineEvent) -> None:
        self._queue.put_nowait(event)

    def ring(self) -> None:
        self.happens(Ringing())

    def answer(self) -> None:
        """Pick up."""
        self.answered = True
        self.audio.open()
        self.happens(Answered())

    def press(self, keys: str) -> None:
        for key in keys:
            self.happens(Dtmf(key, 100))

    def end(self, by: Party = "customer", outcome: Outcome = Outcome.COMPLETED, detail: str = "") -> None:
        if self.ended is None:
            self.ended = Ended(by, outcome, None, detail)
            self.audio.close()
            if self.answered:
                self.happens(Quality(4.2, 0.01, 3.0, 20.0, "PCMU"))
            self.happens(self.ended)
            self.quiet.set()
            self.over.set()

    async def send_dtmf(self, digits: str) -> None:
        if not set(digits) <= set("0123456789*#ABCD"):
            raise ValueError(f"{digits!r} is no DTMF digit")
        self.keys.append(digits)

    async def hold(self) -> None:
        self.held = True

    async def resume(self) -> None:
        self.held = False

    async def transfer(self, to: str, mode: TransferMode = "blind", *, consultation: Line | None = None) -> Transferred:
        self.transfers.append((to, mode, consultation))
        status = self.leg.transfer_status
        result = Transferred(
            to, "accepted" if status == "accepted" else "failed", "" if status == "accepted" else status
        )
        self.happens(result)
        if status == "accepted":
            self.end("assistant", Outcome.TRANSFERRED)
        return result

    async def hangup(self) -> None:
        self.end("assistant", Outcome.COMPLETED if self.answered else Outcome.CANCELLED)


class MemoryArrival(Arrival):
    """A call to us in memory."""

    def __init__(self, leg: "MemoryLeg", from_: str, to: str) -> None:
        self._line = MemoryLine(leg, to)
        self._from, self._to = from_, to
        self.rejected: int | None = None

    @property
    def line(self) -> MemoryLine:
        return self._line

    @property
    def from_(self) -> str:
        return self._from

    @property
    def to(self) -> str:
        return self._to

    @property
    def external_id(self) -> str:
        return self._line.external_id

    @property
    def trunk_id(self) -> str:
        return "4"

    @property
    def token(self) -> str:
        return ""

    async def ring(self) -> None:
        self._line.ring()

    async def answer(self) -> Line:
        if self._line.ended is not None:
            raise LegError("the caller has gone")
        self._line.answer()
        return self._line

    async def reject(self, status: int = 486) -> None:
        if self._line.answered or self._line.ended is not None:
            return
        self.rejected = status
        self._line.end("assistant", Outcome.REJECTED)


class MemoryLeg(Leg):
    """A `Leg` that dials lines in memory."""

    def __init__(self) -> None:
        self.dialed: asyncio.Queue[MemoryLine] = asyncio.Queue()
        self.lines: list[MemoryLine] = []
        self.transfer_status = "accepted"
        self.error: str | None = None
        self.arrivals: dict[int, Arrival] = {}
        self._coming: asyncio.Queue[Arrival | None] = asyncio.Queue()

    def arrival_of(self, call_id: int) -> Arrival | None:
        """As the legs of a worker."""
        return self.arrivals.get(call_id)

    def for_kind(self, kind: str) -> Leg:
        """As the legs of a worker, of which this is the only one."""
        if kind != "sip":
            raise LegError(f"this engine has no leg {kind}")
        return self

    @property
    def refused(self) -> Mapping[str, int]:
        """Nothing is refused."""
        return {}

    async def set_trunks(self, trunks: Iterable[Telephony]) -> None:
        """Let nothing in."""

    async def start(self) -> None:
        """Nothing to open."""

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = 60.0) -> MemoryLine:  # noqa: ARG002
        if self.error is not None:
            raise LegError(self.error)
        line = MemoryLine(self, to)
        self.lines.append(line)
        self.dialed.put_nowait(line)
        return line

    def arrive(self, arrival: Arrival) -> None:
        """Let a call come in."""
        self._coming.put_nowait(arrival)

    async def incoming(self) -> AsyncIterator[Arrival]:
        while (arrival := await self._coming.get()) is not None:
            yield arrival

    async def stop(self) -> None:
        for line in self.lines:
            line.end("engine", Outcome.FAILED)
        self._coming.put_nowait(None)
