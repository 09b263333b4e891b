"""One call of Twilio's."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

from .. import tones
from ..leg import (
    Answered,
    Dtmf,
    Ended,
    LegError,
    Line,
    LineEvent,
    Outcome,
    Party,
    Ringing,
    TransferMode,
    Transferred,
    until_ended,
)
from ..transport import PIPELINE_HZ, LineTransport
from .api import Rest, forward
from .audio import MediaStream

KEY_MS = 100  # Twilio does not tell for how long a key was pressed
# `CallStatus` of a call that never was up, by Twilio's names.
_OUTCOMES = {
    "busy": Outcome.BUSY,
    "no-answer": Outcome.NO_ANSWER,
    "failed": Outcome.UNREACHABLE,
    "canceled": Outcome.CANCELLED,
}


class TwilioLine:
    """A `Line` on a media stream. Twilio tells of a call by status callbacks and by the websocket; the first counts."""

    def __init__(self, sid: str, rest: Rest) -> None:
        """Take a call over."""
        self.audio = MediaStream()
        self.on_ended: list[Callable[[Ended], None]] = []
        self._sid, self._rest = sid, rest
        self._transport = LineTransport(self.audio, self.send_dtmf)
        self._queue: asyncio.Queue[LineEvent] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._answered = False
        self._ringing = False
        self._ended: Ended | None = None
        self._ending: Outcome | None = None
        self._patience: asyncio.TimerHandle | None = None

    @property
    def external_id(self) -> str:
        """The call's SID."""
        return self._sid

    @property
    def transport(self) -> LineTransport:
        """The ends of the pipeline."""
        return self._transport

    @property
    def events(self) -> AsyncIterator[LineEvent]:
        """Everything that happens, for one reader; ends after `Ended`."""
        return until_ended(self._queue)

    def told(self, status: str) -> None:
        """Take a status callback's `CallStatus`."""
        if status == "ringing" and not self._ringing and not self._answered:
            self._ringing = True
            self._queue.put_nowait(Ringing())
        elif status in _OUTCOMES:
            self.end("customer" if status != "failed" else "engine", _OUTCOMES[status], status)
        elif status == "completed":
            self.end("customer", Outcome.COMPLETED, status)

    def expect_stream(self, within_s: float) -> None:
        """End the line if it was neither answered nor refused in time: the word of it may be lost."""
        if self._patience is not None:
            self._patience.cancel()
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(within_s, self.end, "engine", Outcome.FAILED, "no stream came")

    def answered(self) -> None:
        """Note that the media flows."""
        if self._patience is not None:
            self._patience.cancel()
        if not self._answered:
            self._answered = True
            self._queue.put_nowait(Answered())

    def pressed(self, digit: str) -> None:
        """Take a `dtmf` message."""
        self._queue.put_nowait(Dtmf(digit, KEY_MS))
        self._spawn(self._transport.pressed(digit))

    def end(self, by: Party, outcome: Outcome, detail: str) -> None:
        """Note the end; the first word counts."""
        if self._ended is not None:
            return
        if self._ending is not None:
            by, outcome = "assistant", self._ending
        self._ended = Ended(by, outcome, None, detail)
        self.audio.close()
        if self._patience is not None:
            self._patience.cancel()
        self._queue.put_nowait(self._ended)
        for listener in self.on_ended:
            listener(self._ended)

    async def send_dtmf(self, digits: str) -> None:
        """Press keys by their sound: a media stream has no other way."""
        self._require_up()
        sound = tones.keys(digits, PIPELINE_HZ)
        await self.audio.write(sound, PIPELINE_HZ)

    async def hold(self) -> None:
        """Raise `LegError`: a media stream has no hold."""
        raise LegError("a media stream cannot hold a call")

    async def resume(self) -> None:
        """Raise `LegError`: a media stream has no hold."""
        raise LegError("a media stream cannot hold a call")

    async def transfer(self, to: str, mode: TransferMode = "blind", *, consultation: Line | None = None) -> Transferred:
        """Let Twilio dial another number into the call (`<Dial>`), which ends the stream."""
        self._require_up()
        if mode != "blind" or consultation is not None:
            raise LegError("a media stream transfers blind only")
        if not to.removeprefix("+").isalnum():
            raise LegError(f"{to!r} cannot be dialed")
        self._ending = Outcome.TRANSFERRED
        try:
            await self._rest.update(self._sid, {"Twiml": forward(to)})
        except LegError as error:
            self._ending = None
            result = Transferred(to, "failed", str(error))
        else:
            result = Transferred(to, "accepted")
        self._queue.put_nowait(result)
        if result.status == "accepted":
            self.end("assistant", Outcome.TRANSFERRED, "")
        return result

    async def hangup(self) -> None:
        """End the call, answered or not."""
        if self._ended is not None:
            return
        self._ending = Outcome.COMPLETED if self._answered else Outcome.CANCELLED
        await self._rest.update(self._sid, {"Status": "completed" if self._answered else "canceled"})
        self.end("assistant", self._ending, "")

    def _require_up(self) -> None:
        if not self._answered or self._ended is not None:
            raise LegError("the line is not up")

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
