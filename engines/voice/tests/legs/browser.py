"""A browser's part of a web call, played by aiortc."""

import asyncio
import fractions
import time
from typing import Self

import aiohttp
import numpy as np
from aiortc import RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.mediastreams import AudioStreamTrack, MediaStreamError, MediaStreamTrack
from av import AudioFrame, AudioResampler

from .sound import Samples

HZ = 48_000
STEP = HZ // 50


class Microphone(AudioStreamTrack):
    """Says what it is given, and silence, at the pace of the sound."""

    def __init__(self) -> None:
        """Start silent."""
        super().__init__()
        self.samples: Samples = np.zeros(0, dtype=np.int16)
        self._sent = 0
        self._began = time.monotonic()

    async def recv(self) -> AudioFrame:
        """Return the next 20 ms."""
        await asyncio.sleep(max(0.0, self._began + self._sent / HZ - time.monotonic()))
        chunk, self.samples = self.samples[:STEP], self.samples[STEP:]
        chunk = np.concatenate((chunk, np.zeros(STEP - len(chunk), dtype=np.int16)))
        frame = AudioFrame.from_ndarray(chunk[None, :], layout="mono")
        frame.sample_rate, frame.pts, frame.time_base = HZ, self._sent, fractions.Fraction(1, HZ)
        self._sent += STEP
        return frame


class Browser:
    """A page with a call button."""

    def __init__(self) -> None:
        """Open it."""
        self.microphone = Microphone()
        self.heard: list[tuple[float, Samples]] = []
        self.connection = RTCPeerConnection(RTCConfiguration(iceServers=[]))
        self.connection.addTrack(self.microphone)
        self._tasks: set[asyncio.Task[None]] = set()
        self.connection.on("track", self._on_track)

    async def offer(self) -> str:
        """Return the SDP to send."""
        await self.connection.setLocalDescription(await self.connection.createOffer())
        return str(self.connection.localDescription.sdp)

    async def call(self, url: str, token: str) -> int:
        """Press the button; returns the HTTP status."""
        body = {"token": token, "sdp": await self.offer()}
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{url}/web/calls", json=body, headers={"Origin": "https://shop.example"}) as response,
        ):
            assert response.headers["Access-Control-Allow-Origin"] == "*"
            if response.status == 200:
                answer = RTCSessionDescription((await response.json())["sdp"], "answer")
                await self.connection.setRemoteDescription(answer)
            return response.status

    def _on_track(self, track: MediaStreamTrack) -> None:
        task = asyncio.create_task(self._listen(track))
        self._tasks.add(task)

    async def _listen(self, track: MediaStreamTrack) -> None:
        resampler = AudioResampler("s16", "mono", HZ)
        while True:
            try:
                frame = await track.recv()
            except MediaStreamError:
                return
            assert isinstance(frame, AudioFrame)
            for part in resampler.resample(frame):
                self.heard.append((time.time(), part.to_ndarray()[0]))

    def samples(self) -> Samples:
        """Return everything heard."""
        return np.concatenate([samples for _, samples in self.heard]) if self.heard else np.zeros(0, dtype=np.int16)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.connection.close()
        for task in self._tasks:
            task.cancel()
