"""The peer's RTP (RFC 3550) with PCMU and telephone events (RFC 4733): plays, records, measures."""

import asyncio
import itertools
import random
import socket
import struct
import time
from dataclasses import dataclass

import numpy as np

from .sound import FRAME, Samples, decode_pcmu, encode_pcmu, silence

PCMU, EVENTS = 0, 101
KEYS = "0123456789*#ABCD"
FIRST_SEQUENCE = 1000
TICK_S = 0.02
SILENT_LOUDNESS = 64.0
SO_TIMESTAMPNS = 35  # the kernel's arrival time: a busy test process does not make gaps


@dataclass(frozen=True)
class Received:
    """A packet: `at` is the system clock's time of arrival, seconds."""

    at: float
    sequence: int
    payload_type: int
    payload: bytes


class Media:
    """An RTP socket on loopback that sends a packet each 20 ms, of what is played or of silence."""

    def __init__(self, *, loss: float = 0.0, seed: int = 1) -> None:
        """Open the socket; `loss` is the share of sent packets that are left out."""
        self.received: list[Received] = []
        self.keys: list[str] = []
        self.destination: tuple[str, int] | None = None
        self.muted = False
        self.spoke_until = 0.0
        self.loss, self.jitter_ms, self._random = loss, 0.0, random.Random(seed)
        self._playing: list[bytes] = []
        self._pressing: list[tuple[bytes, bool, int]] = []
        self._sequence, self._timestamp, self._source = FIRST_SEQUENCE, 160_000, 0x5EED
        self._event_ids: set[bytes] = set()
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self._socket.setblocking(False)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._socket, self._receive)
        self._sender: asyncio.Task[None] | None = None
        self._idle = asyncio.Event()
        self._idle.set()

    @property
    def packets(self) -> int:
        """How many packets were made, those that were left out included."""
        return self._sequence - FIRST_SEQUENCE

    @property
    def port(self) -> int:
        """The port to name in SDP."""
        return int(self._socket.getsockname()[1])

    def start(self, destination: tuple[str, int]) -> None:
        """Send to this address from now on."""
        self.destination = destination
        if self._sender is None:
            self._sender = self._loop.create_task(self._send())

    def close(self) -> None:
        """Stop."""
        if self._sender is not None:
            self._sender.cancel()
        if self._socket.fileno() >= 0:
            self._loop.remove_reader(self._socket)
            self._socket.close()

    def play(self, samples: Samples) -> None:
        """Queue sound, cut into packets of 20 ms."""
        padded = np.concatenate((samples, silence(0.02)))[: -(-len(samples) // FRAME) * FRAME]
        self._idle.clear()
        self._playing += [encode_pcmu(padded[at : at + FRAME]) for at in range(0, len(padded), FRAME)]

    async def played(self) -> None:
        """Wait until everything queued was sent."""
        await self._idle.wait()

    def press(self, keys: str, duration_ms: int = 100) -> None:
        """Queue telephone events: each key held, its end sent thrice (RFC 4733 section 2.5.1.4)."""
        self._idle.clear()
        for key in keys:
            code, ticks = KEYS.index(key), duration_ms // 20
            for tick in range(1, ticks + 3):
                end = tick >= ticks
                payload = struct.pack("!BBH", code, 0x80 * end | 10, min(tick, ticks) * FRAME)
                self._pressing.append((payload, tick == 1, ticks * FRAME * (tick == ticks + 2)))
            self._pressing += [(b"", False, 0)] * 3

    async def _send(self) -> None:
        due = time.monotonic()
        while True:
            if not self.muted and self.destination is not None:
                self._tick()
            due += TICK_S
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    def _tick(self) -> None:
        if self._pressing:
            payload, first, advance = self._pressing.pop(0)
            if payload:
                self._packet(EVENTS, payload, marker=first)
                self._timestamp += advance
                return
        if self._playing:
            self._packet(PCMU, self._playing.pop(0), marker=False)
            self.spoke_until = time.time()
        else:
            self._packet(PCMU, b"\xff" * FRAME, marker=False)
        self._timestamp += FRAME
        if not self._playing and not self._pressing:
            self._idle.set()

    def _packet(self, payload_type: int, payload: bytes, *, marker: bool) -> None:
        self._sequence += 1
        head = struct.pack("!BBHII", 0x80, 0x80 * marker | payload_type, self._sequence & 0xFFFF, self._timestamp,
                           self._source)  # fmt: skip
        if self._random.random() >= self.loss:
            self._loop.call_later(self._random.random() * self.jitter_ms / 1000, self.send_raw, head + payload)

    def send_raw(self, datagram: bytes) -> None:
        """Send any bytes to the media port."""
        if self.destination is not None and self._socket.fileno() >= 0:
            self._socket.sendto(datagram, self.destination)

    def _receive(self) -> None:
        while True:
            try:
                datagram, ancillary, _, _ = self._socket.recvmsg(2048, 64)
            except (BlockingIOError, OSError):
                return
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2]) if ancillary else (int(time.time()), 0)
            if len(datagram) < 12:
                continue
            packet = Received(
                seconds + nanoseconds / 1e9,
                struct.unpack_from("!H", datagram, 2)[0],
                datagram[1] & 0x7F,
                datagram[12:],
            )
            if packet.payload_type == EVENTS and packet.payload[1] & 0x80:
                self._note_key(datagram[4:8], packet.payload)
            self.received.append(packet)

    def _note_key(self, timestamp: bytes, payload: bytes) -> None:
        # The end of an event comes three times with one timestamp.
        if timestamp not in self._event_ids:
            self._event_ids.add(timestamp)
            self.keys.append(KEYS[payload[0]])

    def audio(self) -> list[Received]:
        """Return the PCMU packets, in order of arrival."""
        return [packet for packet in self.received if packet.payload_type == PCMU]

    def samples(self, since: float = 0.0) -> Samples:
        """Return what was heard, from a time of the system clock on."""
        heard = [decode_pcmu(packet.payload) for packet in self.audio() if packet.at >= since]
        return np.concatenate(heard) if heard else silence(0)

    def longest_gap_ms(self) -> float:
        """Return the longest time between two packets of any type, milliseconds."""
        times = [packet.at for packet in self.received]
        return max((1000 * (later - earlier) for earlier, later in itertools.pairwise(times)), default=0.0)

    def first_sound(self, since: float) -> float | None:
        """Return when the first packet arrived, after a time of the system clock, in which something can be heard."""
        return next((packet.at for packet in self.audio() if packet.at >= since and _audible(packet)), None)

    async def echo_ms(self, samples: Samples, wait_s: float = 0.6) -> float:
        """Play, and return the time to the first sound that came back, milliseconds; infinite where none did."""
        await self.played()
        began = time.time()
        self.play(samples)
        await self.played()
        await asyncio.sleep(wait_s)
        first = self.first_sound(began)
        return float("inf") if first is None else 1000 * (first - began)

    def last_sound(self) -> float | None:
        """Return when the last packet arrived in which something can be heard."""
        return next((packet.at for packet in reversed(self.audio()) if _audible(packet)), None)

    def response_ms(self) -> float | None:
        """Return the time from the end of the peer's speech to the first sound it heard after it, milliseconds."""
        first = self.first_sound(self.spoke_until)
        return None if first is None else 1000 * (first - self.spoke_until)


def _audible(packet: Received) -> bool:
    samples = decode_pcmu(packet.payload).astype(np.float64)
    return float(np.sqrt(np.mean(samples**2))) > SILENT_LOUDNESS
