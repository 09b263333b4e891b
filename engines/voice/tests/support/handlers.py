"""Conversations and legs that the workers of tests run; they stand for what a voice engine does."""

import asyncio
import os
import tempfile
import time
import weakref
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from switchboard_engine.client import Call, Engine
from switchboard_engine.client.events import Answered, Cost, Dialing, Transcript, Variables
from switchboard_engine.dialogs import dialogs
from switchboard_engine.plugs import Handler

ended: list[Mapping[str, Any]] = []
"""What the hook of this process was given."""


async def steady(call: Call) -> None:
    """Talk until the service hangs up, with a dialog of the leg `sip` up meanwhile."""
    await call.report(Dialing())
    dialogs.up("sip", str(call.id), {"dialog": f"of call {call.id}"})
    await call.report(Answered("human"))
    await call.report(Variables({"pid": os.getpid()}))
    try:
        async for command in call.commands:
            await call.done(command)
            await call.ended("assistant", "hangup")
    finally:
        dialogs.down("sip", str(call.id))
    await call.report(Cost(0.1, 0.2))
    await call.flush()


async def brief(call: Call) -> None:
    """Say a word and leave the end to the worker."""
    await call.report(Dialing())
    await call.report(Answered("human"))
    await call.report(Transcript("bot", call.assistant.greeting or ""))


async def broken(call: Call) -> None:
    """Break at once."""
    message = f"call {call.id} breaks"
    raise RuntimeError(message)


async def deaf(call: Call) -> None:
    """Never look at anything."""
    await call.report(Dialing())
    await call.report(Answered("human"))
    await asyncio.Event().wait()


async def forgetful(call: Call) -> None:
    """Leave the far end up."""
    dialogs.up("sip", str(call.id), {"dialog": f"of call {call.id}"})
    await deaf(call)


async def littering(call: Call) -> None:
    """Write temporary files that it does not remove."""
    with tempfile.NamedTemporaryFile(dir=tempfile.mkdtemp(), delete=False) as file:
        await call.report(Dialing())
        await call.report(Answered("human"))
        await call.report(Variables({"wrote": file.name}))
    await asyncio.Event().wait()


async def frozen(_call: Call) -> None:
    """Hold up the whole process."""
    time.sleep(30)  # noqa: ASYNC251 - that is what it is for


@asynccontextmanager
async def inbound_leg(engine: Engine, handle: Handler) -> AsyncIterator[None]:
    """Bring one call at the start."""
    call = await engine.inbound("+12025550001", "+12025550100", external_id="leg-1")
    task = asyncio.create_task(_carry(handle, call))
    yield
    task.cancel()


async def _carry(handle: Handler, call: Call) -> None:
    await handle(call)


async def end_dialogs(left: Sequence[Mapping[str, Any]]) -> None:
    """End the dialogs of a dead worker."""
    ended.extend(left)


async def fail_to_end(_left: Sequence[Mapping[str, Any]]) -> None:
    """Fail as a hook may."""
    message = "no route"
    raise OSError(message)


NOT_CALLABLE = 7


class Cycle:
    """An object that only Python's collector can free, as what a conversation leaves."""

    left: ClassVar[list["weakref.ref[Cycle]"]] = []

    def __init__(self) -> None:
        self.itself = self
        self.left.append(weakref.ref(self))


async def cyclic(call: Call) -> None:
    """Leave a cycle behind."""
    Cycle()
    await brief(call)
