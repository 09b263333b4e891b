"""The voice engine as `switchboard engine-check` runs it: on lines in memory, with customers who play a script.

What a customer says are tones, which the speech-to-text of these tests understands.
"""

import asyncio
from collections.abc import AsyncIterator, MutableMapping, Sequence
from contextlib import asynccontextmanager

import numpy as np
from pipecat.frames.frames import Frame, InputAudioRawFrame
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor

from conversation.fakes import FakeServices, TypedSTT
from conversation.memory_line import MemoryLeg, MemoryLine, audible
from legs.sound import Samples, power, tone
from switchboard_engine.client import Call, Engine
from switchboard_engine.client.wire import Json
from switchboard_engine.conversation import converse as conversation
from switchboard_engine.legs import Telephony
from switchboard_engine.legs.registry import Legs
from switchboard_engine.plugs import Handler

HZ = 16_000
TALKS_ON, ASKS_TOOLS = "0007", "0008"
HELLO, LOOK_UP = "When do you open?", "Please look it up."
TONES = {500.0: HELLO, 900.0: LOOK_UP}


def voice(text: str) -> Samples:
    """Return what is understood as a text: no pure tone, which a machine's beep would be."""
    frequency = next(known for known, meant in TONES.items() if meant == text)
    return tone(frequency, 0.3, HZ) // 2 + tone(1.37 * frequency, 0.3, HZ) // 2


class HearingSTT(TypedSTT):
    """Speech-to-text that understands tones."""

    def __init__(self) -> None:
        super().__init__()
        self._heard = b""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if not isinstance(frame, InputAudioRawFrame):
            return
        if audible(frame.audio):
            if not self._heard:
                await self.begin()
            self._heard += frame.audio
        elif self._heard:
            heard, self._heard = np.frombuffer(self._heard, dtype=np.int16), b""
            await self.finish(TONES[max(TONES, key=lambda frequency: power(heard, frequency, HZ))])


class HearingServices(FakeServices):
    """The services of these tests."""

    def stt(self, entry: Json | None, *, languages: Sequence[str]) -> FrameProcessor:
        del entry, languages
        return HearingSTT()


def services() -> HearingServices:
    """Return the services, as a factory does."""
    return HearingServices()


class ScriptedLeg(MemoryLeg):
    """A leg whose customers pick up, and do what the end of their number says."""

    def __init__(self) -> None:
        super().__init__()
        self._customers: set[asyncio.Task[None]] = set()

    async def dial(self, telephony: Telephony, to: str, *, ring_timeout_s: float = 60.0) -> MemoryLine:
        line = await super().dial(telephony, to, ring_timeout_s=ring_timeout_s)
        customer = asyncio.create_task(self._play(line))
        self._customers.add(customer)
        customer.add_done_callback(self._customers.discard)
        return line

    async def _play(self, line: MemoryLine) -> None:
        await asyncio.sleep(0.05)
        line.ring()
        await asyncio.sleep(0.15)
        if line.ended is not None:
            return
        line.answer()
        await asyncio.sleep(1.5)  # a greeting
        line.audio.play(voice(LOOK_UP if line.to.endswith(ASKS_TOOLS) else HELLO))
        await asyncio.sleep(2.5)
        while line.to.endswith(TALKS_ON) and line.ended is None:
            line.audio.play(voice(HELLO))
            await asyncio.sleep(2)
        line.end()


@asynccontextmanager
async def leg(engine: Engine, handle: Handler) -> AsyncIterator[None]:
    """Run the leg, as a worker does its own."""
    async with Legs(engine, handle, {"sip": ScriptedLeg()}):
        yield


class Converse:
    """The voice conversation; its trunks have an address, which calls of the check lack."""

    async def __call__(self, call: Call) -> None:
        if call.telephony is not None and isinstance(call.telephony.raw, MutableMapping):
            call.telephony.raw.setdefault("address", "pbx.example")
        await conversation(call)

    async def warm_up(self) -> None:
        """Load what the conversation loads."""
        await conversation.warm_up()


converse = Converse()
