"""Engines for tests: quick ones, and what a conversation does at its shortest."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from switchboard_engine.client import Call, Engine, Timing
from switchboard_engine.client.events import Answered, Dialing, Ringing, Transcript

from .fake_service import TOKEN, FakeService

QUICK = Timing(
    answer=1.0, claim_wait=1, heartbeat=0.05, backoff_first=0.005, backoff_most=0.02, partials_apart=0.0, patience=0.5
)
"""Time limits at which a test need not wait."""


def engine_of(service: FakeService, **settings: Any) -> Engine:
    """Return an engine for a service."""
    settings = {"name": "desk-1", "timing": QUICK, **settings}
    return Engine(service.url, TOKEN, **settings)


async def next_call(engine: Engine) -> Call:
    """Return the next claimed call."""
    async with asyncio.timeout(20):
        return await anext(engine.calls())


async def answer(call: Call) -> None:
    """Bring a call from its claim into talk."""
    await call.report(Dialing())
    await call.report(Ringing())
    await call.report(Answered("human"))
    await call.report(Transcript("bot", "Hello Ada Park."))


@asynccontextmanager
async def talking(service: FakeService, **settings: Any) -> AsyncIterator[tuple[Engine, Call]]:
    """Attach an engine, and bring call 1 into talk."""
    service.offer(1)
    async with engine_of(service, **settings) as engine:
        call = await next_call(engine)
        await answer(call)
        await call.flush()
        yield engine, call
