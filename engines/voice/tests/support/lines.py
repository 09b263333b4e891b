"""A conversation of the tests that only keeps a line: on the leg that the call came in on, or that its trunk names."""

import asyncio

from switchboard_engine.client import Call
from switchboard_engine.client.events import Answered, Dialing, Ringing
from switchboard_engine.legs import Answered as LineAnswered
from switchboard_engine.legs import Ended, Line, Telephony
from switchboard_engine.legs import Ringing as LineRings
from switchboard_engine.legs.registry import Legs

RINGS_ON = "+12025550666"
"""A caller whose call is left to ring."""


async def keep_line(call: Call) -> None:
    """Keep the line until one side ends it."""
    legs = Legs.current()
    arrival = legs.arrival_of(call.id)
    if arrival is not None:
        await call.report(Ringing())
        if arrival.from_ == RINGS_ON:
            await asyncio.Event().wait()
        line: Line = await arrival.answer()
    else:
        assert call.telephony is not None
        await call.report(Dialing())
        line = await legs.dial(Telephony.from_api(call.telephony.raw))
    obeying = asyncio.create_task(_obey(call, line))
    try:
        async for event in line.events:
            await _report(call, event)
    finally:
        obeying.cancel()
        await line.hangup()


async def _report(call: Call, event: object) -> None:
    match event:
        case LineRings():
            await call.report(Ringing())
        case LineAnswered():
            await call.report(Answered("human"))
        case Ended():
            await call.ended(event.by, event.outcome)


async def _obey(call: Call, line: Line) -> None:
    async for command in call.commands:
        await call.done(command)
        await line.hangup()
