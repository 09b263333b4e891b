"""One SIP call, either way."""

import asyncio
import logging
from collections.abc import Callable

from baresip import BaresipError, Call, DigitEvent, Event, StackEvent, StaleHandleError, TransferFailed
from typing_extensions import override

from ..base import BaseLine
from ..leg import (
    Dtmf,
    Ended,
    Hold,
    LegError,
    Line,
    Outcome,
    Party,
    Resume,
    TransferMode,
    Transferred,
)
from ..transport import LineTransport
from . import outcome, quality
from .audio import SipAudio
from .native import Native

logger = logging.getLogger(__name__)

TRANSFER_TIMEOUT_S = 30.0
REINVITE_TRIES = 10
RELEASE_S = 0.14  # the last key is on the wire for so long after its release, with its end thrice
REINVITE_PAUSE_S = 0.1
_ENDED_BY: dict[Outcome, Party] = {Outcome.MEDIA_TIMEOUT: "engine", Outcome.TRANSFERRED: "assistant"}


class SipLine(BaseLine):
    """A `Line` on the stack's call. All of it runs on the loop; the stack's events come through `on_stack_event`."""

    def __init__(
        self,
        call: Call,
        native: Native,
        *,
        incoming: bool,
        uri_of: Callable[[str], str],
        codec_of: Callable[[str], str],
    ) -> None:
        """Take a call over.

        Args:
            call: the stack's call, which rings here or there.
            native: what the stack's binding lacks.
            incoming: whether the customer calls.
            uri_of: makes the SIP URI of a number to transfer to.
            codec_of: returns the name of the codec of a Call-ID.
        """
        super().__init__()
        self.call = call
        self._native = native
        self._incoming = incoming
        self._uri_of, self._codec_of = uri_of, codec_of
        self._audio = SipAudio(call.audio)
        self._transport = LineTransport(self._audio, self.send_dtmf)
        self._transferring_to: str | None = None
        call.on_dtmf(self._on_digit)

    @property
    def external_id(self) -> str:
        """The SIP Call-ID."""
        return self.call.call_id or ""

    @property
    def transport(self) -> LineTransport:
        """The ends of the pipeline."""
        return self._transport

    def on_stack_event(self, event: StackEvent) -> None:
        """Follow the stack."""
        match event.event:
            case Event.CALL_RINGING | Event.CALL_PROGRESS:
                self.ringing(early_media=event.event is Event.CALL_PROGRESS)
            case Event.CALL_ESTABLISHED if not self._answered:
                self._audio.open()
                self.answered()
            case Event.CALL_HOLD:
                self._queue.put_nowait(Hold())
            case Event.CALL_RESUME:
                self._queue.put_nowait(Resume())
            case Event.CALL_CLOSED:
                self._closed(event.text or "")
            case _:
                return

    def lose(self) -> None:
        """End without the stack, which has died."""
        self.end("engine", Outcome.FAILED, "the SIP stack died")

    @override
    def _close(self, ended: Ended) -> None:
        self._audio.close()
        if ended.outcome is Outcome.TRANSFERRED:
            self._queue.put_nowait(Transferred(self._transferring_to or "", "accepted"))
        if self._answered:
            self._queue.put_nowait(quality.of(self.call.final_stats, self._codec_of(self.external_id)))

    def _closed(self, text: str) -> None:
        """End with the stack's word for it."""
        if self._answered:
            end = outcome.of_end(text)
            self.end(_ENDED_BY.get(end, "customer"), end, text)
        elif self._incoming:
            self.end("customer", Outcome.CANCELLED, text)
        else:
            refused, status = outcome.of_refusal(text)
            self.end("engine" if status is None else "customer", refused, text, status)

    def _on_digit(self, pressed: DigitEvent) -> None:
        self._queue.put_nowait(Dtmf(pressed.digit, pressed.duration_ms))
        self.spawn(self._transport.pressed(pressed.digit))

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
        self._be_patient(asyncio.get_running_loop().call_later(timeout_s, self._give_up))

    def _give_up(self) -> None:
        if not self._answered:
            self.spawn(self._hang_up_as(Outcome.NO_ANSWER))

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
        """Send a re-INVITE with `a=sendonly` (RFC 3264 section 8.4); the customer then hears silence."""
        await self._reinvite(on=True)
        self._audio.hold(on=True)

    async def resume(self) -> None:
        """Send a re-INVITE with `a=sendrecv`."""
        await self._reinvite(on=False)
        self._audio.hold(on=False)

    async def _reinvite(self, *, on: bool) -> None:
        # One INVITE may be under way at a time (RFC 3261 section 14.1): a moment later it may.
        for _ in range(REINVITE_TRIES):
            self._require_up()
            if await self._native.hold(self.external_id, on=on):
                return
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

    @override
    async def hangup(self) -> None:
        """End the line with BYE, CANCEL or 486, whatever fits its state; the stack then says that it is over."""
        await self._hang_up_as(Outcome.COMPLETED if self._answered else Outcome.CANCELLED)

    async def _hang_up_as(self, why: Outcome) -> None:
        if self._ended is not None:
            return
        self._ending = self._ending or why
        try:
            await self.call.hangup()
        except StaleHandleError:
            return
        except BaresipError as error:
            raise LegError(f"the line could not be ended: {error}") from error
