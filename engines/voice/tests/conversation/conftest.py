"""Fixtures of the conversation's tests: a service, a scripted model, local speech, and a leg in memory."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from legs.sound import Samples
from support.engines import engine_of
from support.fake_call import FakeCall
from support.fake_service import FakeService, entry
from switchboard_engine.client import Engine, Timing
from switchboard_engine.conversation.conversation import Conversation
from switchboard_engine.local import LocalServices
from switchboard_engine.services import Services

from .fakes import FakeServices
from .memory_line import MemoryArrival, MemoryLeg, MemoryLine
from .script import ScriptedModel
from .voices import espeak, spoken

WAIT_S = 40.0
"""Longest wait for anything: a busy machine hears late, and then all at once."""
TIMING = Timing(answer=2.0, claim_wait=1, heartbeat=1.0, backoff_first=0.01, backoff_most=0.05)
PHRASES = (
    "hello",
    "what are your opening hours",
    "please look up my order",
    "transfer me to a person",
    "stop please i have a question",
    "thank you goodbye",
    "yes please",
    "no thanks",
)


def assistant(**members: Any) -> dict[str, Any]:
    """Return an assistant of the local services, with quick turns."""
    return {
        "name": "Front desk",
        "mode": "pipeline",
        "prompt": "You answer the telephone of a shop.",
        "greeting": "Hello, this is Anna.",
        "spoken_language": {"id": 1, "name": "English", "code": "en-US"},
        "voice": {"id": 3, "name": "V", "code": "v", "engine": {"vendor": "local", "voice_id": "en-us+f2"}},
        "transcriber_provider": {"id": 1, "code": "local", "engine": {"vendor": "local", "phrases": list(PHRASES)}},
        "synthesizer_provider": {"id": 1, "code": "local", "engine": {"vendor": "local"}},
        "llm_model": {"id": 1, "code": "scripted", "engine": {"vendor": "local", "model": "scripted"}},
        "enable_noise_cancellation": False,
        "record": False,
        "functions": [],
        "tools": [],
        "timings": {"ringing_time": 20, "max_duration": 300, "max_silence_duration": 40, "reengagement_interval": 30},
        "turns": {"strategy": "silence", "stop_ms": 400},
        **members,
    }


@dataclass
class Scene:
    """A call that runs: the customer's telephone, the model's script, and what the service was told."""

    service: FakeService
    model: ScriptedModel
    leg: MemoryLeg
    engine: Engine
    services: Services = field(default_factory=LocalServices)
    line: MemoryLine | None = None
    conversing: asyncio.Task[None] | None = None
    call_id: int = 1
    kind: str = "sip"

    async def begin(self, call_type: str = "outbound", **members: Any) -> MemoryLine:
        """Claim a call and let it be dialed; returns the customer's line, which rings."""
        await self.offer(call_type, **members)
        self.line = await self.dialed()
        return self.line

    async def offer(self, call_type: str = "outbound", **members: Any) -> None:
        """Claim a call."""
        offered = entry(self.call_id, type=call_type)
        offered["assistant"] = assistant(**members)
        offered["telephony"] = {
            "kind": self.kind,
            "trunk_id": 4,
            "dial": "+12025550001",
            "address": "127.0.0.1:1",
            "from": "+1",
        }
        self.service.queue.append(offered)
        self.service.wake()
        call = await anext(self.engine.calls())
        self.conversing = asyncio.create_task(Conversation(call, self.services, self.leg).run())

    async def arrive(self, arrival: MemoryArrival, **members: Any) -> None:
        """Let a call come in."""
        self.service.assistant = assistant(**members)
        call = await self.engine.inbound(arrival.from_, arrival.to, external_id=arrival.external_id)
        self.call_id = call.id
        self.line = arrival.line
        self.leg.arrivals[call.id] = arrival
        self.conversing = asyncio.create_task(Conversation(call, self.services, self.leg).run())

    async def dialed(self) -> MemoryLine:
        """Return the next line that is dialed."""
        assert self.conversing is not None
        getting = asyncio.create_task(self.leg.dialed.get())
        await asyncio.wait({getting, self.conversing}, timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED)
        if not getting.done():
            self.conversing.result()
        return getting.result()

    async def answered(self, **members: Any) -> MemoryLine:
        """Begin a call and pick up."""
        line = await self.begin(**members)
        line.ring()
        await asyncio.sleep(0.1)
        line.answer()
        return line

    @property
    def typed(self) -> FakeServices:
        """The services without speech."""
        assert isinstance(self.services, FakeServices)
        return self.services

    async def tell(self, text: str) -> None:
        """Have the typed customer say something."""
        await self.typed.customer.say(text)

    @property
    def fake(self) -> FakeCall:
        """The call as the service keeps it."""
        return self.service.calls[self.call_id]

    def said(self, sender: str) -> list[str]:
        """Return the texts of the transcript's lines of a side."""
        return [event["text"] for event in self.fake.of("transcript") if event["sender"] == sender]

    async def until(self, holds: Callable[[], bool], seconds: float = WAIT_S) -> None:
        """Wait until the service has seen something."""
        await self.service.until(holds, seconds)

    async def greeted(self, count: int = 1) -> None:
        """Wait until the assistant has said so many lines, and is silent."""
        await self.until(lambda: len(self.said("bot")) >= count)
        assert self.line is not None
        await self.line.audio.drain()
        # A word or two said before would not count.
        await asyncio.wait_for(self.line.quiet.wait(), WAIT_S)

    async def hears(self, seconds: float) -> None:
        """Wait until the customer has heard so much more of the assistant."""
        assert self.line is not None
        since = time.monotonic()
        async with asyncio.timeout(WAIT_S):
            while self.line.audio.sound_seconds(since) < seconds:  # noqa: ASYNC110 - as the line plays it
                await asyncio.sleep(0.01)

    async def ended(self, seconds: float = WAIT_S) -> dict[str, Any]:
        """Wait for the end of the conversation; returns the event that ended the call."""
        assert self.conversing is not None
        await asyncio.wait_for(asyncio.shield(self.conversing), seconds)
        return next(event for event in self.fake.events if event["type"] in ("ended", "failed", "release"))


async def say(line: MemoryLine, text: str | Samples) -> float:
    """Have the customer say something; returns the moment at which they stopped."""
    line.audio.play(spoken(text) if isinstance(text, str) else text)
    await line.audio.played()
    return time.monotonic()


@pytest.fixture
async def typed(scene: Scene) -> Scene:
    """Prepare a call whose customer types, and whose assistant's voice is a tone: a second of it says much."""
    scene.services = FakeServices()
    return scene


@pytest.fixture
async def scene(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    """Prepare a call; afterwards nothing of it may be left."""
    monkeypatch.setenv("SWITCHBOARD_ENGINE_ESPEAK", espeak())
    async with ScriptedModel() as model, engine_of(service, timing=TIMING) as engine:
        monkeypatch.setenv("OPENAI_BASE_URL", model.url)
        before = set(asyncio.all_tasks())
        scene = Scene(service, model, MemoryLeg(), engine)
        yield scene
        if scene.conversing is not None and not scene.conversing.done():
            scene.conversing.cancel()
            await asyncio.wait({scene.conversing})
        await asyncio.sleep(0.1)
        gc.collect()
        # Pipecat names its tasks after their processors, with a double colon.
        names = [task.get_name() for task in asyncio.all_tasks() - before]
        assert [name for name in names if "call " in name or "::" in name] == []
