"""One SIP call, either way."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

from baresip import BaresipError, Call, DigitEvent, Event, StackEvent, StaleHandleError, TransferFailed

from ..leg import (
    Answered,
    Dtmf,
    Ended,
    Hold,
    LegError,
    Line,
    LineEvent,
    Outcome,
    Party,
    Resume,
    Ringing,
    TransferMode,
    Transferred,
    until_ended,
)
from ..transport import LineTransport
from . import outcome, quality
from .audio import SipAudio

logger = logging.getLogger(__name__)

TRANSFER_TIMEOUT_S = 30.0
REINVITE_TRIES = 10
RELEASE_S = 0.14  # the last key is on the wire for so long after its release, with its end thrice
REINVITE_PAUSE_S = 0.1
_ENDED_BY: dict[Outcome, Party] = {Outcome.MEDIA_TIMEOUT: "engine", Outcome.TRANSFERRED: "assistant"}


class SipLine:
    """A `Line` on the stack's call. All of it runs on the loop; the stack's events come through `on_stack_event`."""

    def __init__(
        self, call: Call, *, incoming: bool, uri_of: Callable[[str], str], codec_of: Callable[[str], str]
    ) -> None:
        """Take a call over.

        Args:
            call: the stack's call, which rings here or there.
            incoming: whether the customer calls.
            uri_of: makes the SIP URI of a number to transfer to.
            codec_of: returns the name of the codec of a Call-ID.
        """
        self.call = call
        self.on_ended: list[Callable[[Ended], None]] = []
        self._incoming = incoming
        self._uri_of, self._codec_of = uri_of, codec_of
        self._audio = SipAudio(call.audio)
        self._transport = LineTransport(self._audio, self.send_dtmf)
        self._queue: asyncio.Queue[LineEvent] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()
        self._ringing: Ringing | None = None
        self._answered = asyncio.Event()
        self._ended: Ended | None = None
        # Set before we hang up: the stack's words do not tell a peer's BYE from ours.
        self._ending: Outcome | None = None
        self._transferring_to: str | None = None
        self._ring_timer: asyncio.TimerHandle | None = None
        call.on_dtmf(self._on_digit)

    @property
    def external_id(self) -> str:
        """The SIP Call-ID."""
        return self.call.call_id or ""

    @property
    def transport(self) -> LineTransport:
        """The ends of the pipeline."""
        return self._transport

    @property
    def events(self) -> AsyncIterator[LineEvent]:
        """Everything that happens, for one reader; ends after `Ended`."""
        return until_ended(self._queue)

    def on_stack_event(self, event: StackEvent) -> None:
        """Follow the stack."""
        match event.event:
            case Event.CALL_RINGING | Event.CALL_PROGRESS:
                ringing = Ringing(early_media=event.event is Event.CALL_PROGRESS)
                if not self._answered.is_set() and ringing != self._ringing:
                    self._ringing = ringing
                    self._queue.put_nowait(ringing)
            case Event.CALL_ESTABLISHED if not self._answered.is_set():
                self._answered.set()
                self._audio.open()
                self._queue.put_nowait(Answered())
            case Event.CALL_HOLD:
                self._queue.put_nowait(Hold())
            case Event.CALL_RESUME:
                self._queue.put_nowait(Resume())
            case Event.CALL_CLOSED:
                self._end(self._explain(event.text or ""))
            case _:
                return

    def lose(self) -> None:
        """End without the stack, which has died."""
        self._end(Ended("engine", Outcome.FAILED, None, "the SIP stack died"))

    def _end(self, ended: Ended) -> None:
        if self._ended is not None:
            return
        self._ended = ended
        self._audio.close()
        if self._ring_timer is not None:
            self._ring_timer.cancel()
        if self._ended.outcome is Outcome.TRANSFERRED:
            self._queue.put_nowait(Transferred(self._transferring_to or "", "accepted"))
        if self._answered.is_set():
            self._queue.put_nowait(quality.of(self.call.final_stats, self._codec_of(self.external_id)))
        self._queue.put_nowait(self._ended)
        for listener in self.on_ended:
            listener(self._ended)

    def _explain(self, text: str) -> Ended:
        if self._ending is not None:
            return Ended("assistant", self._ending, None, text)
        if self._answered.is_set():
            end = outcome.of_end(text)
            return Ended(_ENDED_BY.get(end, "customer"), end, None, text)
        if self._incoming:
            return Ended("customer", Outcome.CANCELLED, None, text)
        refused, status = outcome.of_refusal(text)
        return Ended("engine" if status is None else "customer", refused, status, text)

    def _on_digit(self, pressed: DigitEvent) -> None:
        self._queue.put_nowait(Dtmf(pressed.digit, pressed.duration_ms))
        self._spawn(self._transport.pressed(pressed.digit))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        """Run a coroutine from a callback; the loop holds tasks weakly, so they are kept until they are done."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def answer(self) -> None:
        """Answer a call to us.

        Raises:
            LegError: the caller has gone.
        """
        try:
            await self.call.answer()
        except BaresipError as error:
            raise LegError(f"the call cannot be answered: {error}") from error

    def ring_for(self, timeout_s: float) -> None:
        """Give up with `NO_ANSWER` when nobody has answered after `timeout_s` seconds."""
        self._ring_timer = asyncio.get_running_loop().call_later(timeout_s, self._give_up)

    def _give_up(self) -> None:
        if not self._answered.is_set():
            self._spawn(self.end(Outcome.NO_ANSWER))

    def refuse(self) -> None:
        """Note that the call which rings is about to be refused."""
        self._ending = Outcome.REJECTED

    async def send_dtmf(self, digits: str) -> None:
        """Press keys by RFC 4733 events, each for 100 ms."""
        self._require_up()
        try:
            await self.call.send_dtmf(digits)
        except BaresipError as error:
            raise LegError(f"DTMF was not sent: {error}") from error
        await asyncio.sleep(RELEASE_S)

    async def hold(self) -> None:
        """Send a re-INVITE with `a=sendonly` (RFC 3264 section 8.4)."""
        await self._reinvite(self.call.hold)

    async def resume(self) -> None:
        """Send a re-INVITE with `a=sendrecv`."""
        await self._reinvite(self.call.resume)

    async def _reinvite(self, change: Callable[[], Awaitable[None]]) -> None:
        # One INVITE may be under way at a time (RFC 3261 section 14.1): the stack refuses, and a moment later it may.
        for _ in range(REINVITE_TRIES):
            self._require_up()
            try:
                await change()
                return
            except StaleHandleError:
                break
            except BaresipError as error:
                logger.debug("re-INVITE not sent: %s", error)
            await asyncio.sleep(REINVITE_PAUSE_S)
        raise LegError("the re-INVITE was not sent")

    async def transfer(self, to: str, mode: TransferMode = "blind", *, consultation: Line | None = None) -> Transferred:
        """Send REFER (RFC 3515), for `warm` with Replaces (RFC 3891), and wait for the NOTIFY of its outcome."""
        self._require_up()
        if self._transferring_to is not None:
            raise LegError("a transfer is under way")
        if mode == "warm" and not isinstance(consultation, SipLine):
            raise LegError("a warm transfer needs an answered line of this leg")
        self._transferring_to = to
        try:
            if isinstance(consultation, SipLine) and mode == "warm":
                await self.call.attended_transfer(consultation.call, timeout=TRANSFER_TIMEOUT_S)
            else:
                await self.call.transfer(self._uri_of(to), timeout=TRANSFER_TIMEOUT_S)
            result = Transferred(to, "accepted")
        except TransferFailed as error:
            result = Transferred(to, "failed", error.reason or str(error))
        except (BaresipError, ValueError) as error:
            raise LegError(f"the transfer was not sent: {error}") from error
        finally:
            self._transferring_to = None
        if result.status == "failed":
            self._queue.put_nowait(result)
        return result

    async def hangup(self) -> None:
        """End the line with BYE, CANCEL or 486, whatever fits its state."""
        await self.end(Outcome.COMPLETED if self._answered.is_set() else Outcome.CANCELLED)

    async def end(self, why: Outcome) -> None:
        """Hang up with an outcome of one's own; does nothing on a line that is over."""
        if self._ended is not None:
            return
        self._ending = self._ending or why
        try:
            await self.call.hangup()
        except StaleHandleError:
            return
        except BaresipError as error:
            raise LegError(f"the line could not be ended: {error}") from error

    def _require_up(self) -> None:
        if not self._answered.is_set() or self._ended is not None:
            raise LegError("the line is not up")
