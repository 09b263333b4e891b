"""Transfers: cold, by handing the call over at once, and warm, after a person was called and told what it is about."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from zoneinfo import ZoneInfo

from pipecat.processors.aggregators.llm_context import LLMContext

from ..client.wire import Json, flag, integer, mapping, text
from ..legs import Answered, Ended, LegError, Line
from .talk import Talk

CONSULT_RING_S = 30.0
SUMMARY_S = 6.0
BRIEFING_S = 40.0
_SUMMARY = "Summarise this telephone call in at most three sentences, for a person who takes it over. {instructions}"
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

Dial = Callable[[str, float], Awaitable[Line]]
"""Calls a number as the call's own trunk does; seconds of ringing at most. Raises `LegError`."""
Brief = Callable[[Line, str], Awaitable[None]]
"""Speaks to the person at a line, and returns when it was said. Raises `LegError`."""

_log = logging.getLogger(__name__)


class Transfers:
    """Transfers one customer; what comes back is a sentence for the model, None once the customer is gone."""

    def __init__(self, talk: Talk, dial: Dial, brief: Brief) -> None:
        """Use the lines of the conversation's leg."""
        self._talk, self._dial, self._brief = talk, dial, brief

    async def to_person(self, settings: Json, chosen: str | None) -> str | None:
        """Carry out `call_transfer`."""
        number_ = chosen if flag(settings, "custom", absent=False) and chosen else text(settings, "phone_number")
        number_ = number_ or text(settings, "number")
        if not number_:
            return "There is no number to transfer to."
        if not is_open(settings):
            return "Nobody can take the call at this hour. Offer to take a message, or to call back."
        if flag(settings, "warm_transfer", absent=False):
            message = text(settings, "warm_transfer_message") or await self._summary("")
            return await self._with_briefing(number_, message)
        await self._talk.said()
        result = await self._talk.transfer(number_)
        return None if result.status == "accepted" else f"The transfer failed: {result.reason or 'nobody answered'}."

    async def warm(self, settings: Json) -> str | None:
        """Carry out `warm_call_transfer`."""
        talk = self._talk
        number_ = text(settings, "supervisor_phone") or text(settings, "number")
        if not number_:
            return "There is no number to transfer to."
        if hold_message := text(settings, "hold_message"):
            await talk.say(hold_message, interruptible=False)
        summary = await self._summary(text(settings, "summary_instructions") or "")
        briefing = " ".join(part for part in (text(settings, "briefing_initial_message"), summary) if part)
        volume = integer(settings, "hold_music_volume")
        plays = (text(settings, "hold_music") or "hold_music") != "none"
        return await self._with_briefing(number_, briefing, (80 if volume is None else volume) / 100 if plays else None)

    async def _with_briefing(self, to: str, briefing: str, music: float | None = 0.8) -> str | None:
        """Call a person, tell them about the call, and hand the customer over."""
        talk = self._talk
        await talk.said()
        talk.mixer.music(music)
        line: Line | None = None
        try:
            line = await self._dial(to, CONSULT_RING_S)
            await _answered(line)
            await asyncio.wait_for(self._brief(line, briefing), BRIEFING_S)
            result = await talk.transfer(to, consultation=line)
            if result.status == "accepted":
                return None
            reason = result.reason or "the line refused it"
        except (LegError, TimeoutError) as error:
            reason = str(error) or "nobody answered in time"
        finally:
            talk.mixer.music(None)
            if line is not None:
                await _hung_up(line)
        return f"The transfer failed: {reason}. Tell the customer, and go on with them."

    async def _summary(self, instructions: str) -> str:
        """Have the model summarise the call; empty where it does not in time, or cannot."""
        if self._talk.settings.mode != "pipeline":
            # A speech-to-speech model answers nothing beside its conversation.
            return ""
        said = [
            f"{message['role']}: {message['content']}"
            for message in self._talk.pipeline.context.get_messages()
            if isinstance(message, dict) and message.get("role") in ("user", "assistant") and message.get("content")
        ]
        context = LLMContext([{"role": "user", "content": "\n".join(said)[-20_000:]}])
        try:
            async with asyncio.timeout(SUMMARY_S):
                summary = await self._talk.pipeline.stages.llm.run_inference(
                    context, max_tokens=200, system_instruction=_SUMMARY.format(instructions=instructions)
                )
        except Exception as error:
            _log.warning("call %d: it was not summarised: %r", self._talk.call.id, error)
            return ""
        return str(summary or "").strip()


def is_open(settings: Json, now: datetime | None = None) -> bool:
    """Return whether it is within the hours of a transfer; always where none are given.

    `hours` is an object of days, `{"monday": [{"from": "09:00", "to": "17:00"}], …}`, judged in `timezone`.
    """
    hours = mapping(settings, "hours")
    if not hours:
        return True
    try:
        local = (now or datetime.now().astimezone()).astimezone(ZoneInfo(text(settings, "timezone") or "UTC"))
    except (KeyError, ValueError):
        return True
    spans = hours.get(_DAYS[local.weekday()])
    at = f"{local:%H:%M}"
    return isinstance(spans, list) and any(
        isinstance(span, dict) and str(span.get("from", "")) <= at < str(span.get("to", "")) for span in spans
    )


async def _answered(line: Line) -> None:
    """Wait for the answer; raises `LegError` where none comes."""
    async for event in line.events:
        if isinstance(event, Answered):
            return
        if isinstance(event, Ended):
            break
    raise LegError("nobody answered")


async def _hung_up(line: Line) -> None:
    try:
        await line.hangup()
    except LegError as error:
        _log.warning("a consultation could not be hung up: %s", error)
