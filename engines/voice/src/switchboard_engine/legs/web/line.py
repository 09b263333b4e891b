"""One call of a browser."""

import asyncio
from collections.abc import AsyncIterator, Callable

from pipecat.transports.smallwebrtc.connection import SmallWebRTCConnection
from pipecat.transports.smallwebrtc.transport import SmallWebRTCTransport
from typing_extensions import override

from ..leg import Answered, Ended, LegError, Line, LineEvent, Outcome, Party, TransferMode, Transferred, until_ended
from ..transport import parameters

_TELEPHONE_ONLY = "a browser's call has no such thing: it is of telephones"


class WebLine(Line):
    """A `Line` on a peer connection (Pipecat's small WebRTC on aiortc). What is said before `Answered` is lost."""

    def __init__(self, connection: SmallWebRTCConnection) -> None:
        """Take a connection that has no offer yet."""
        self.on_ended: list[Callable[[Ended], None]] = []
        self._connection = connection
        self._transport = SmallWebRTCTransport(connection, parameters())
        self._queue: asyncio.Queue[LineEvent] = asyncio.Queue()
        self._answered = False
        self._ended: Ended | None = None
        self._ending: Outcome | None = None
        self._patience: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        connection.add_event_handler("connected", self._on_connected)
        connection.add_event_handler("failed", self._on_failed)
        connection.add_event_handler("disconnected", self._on_gone)
        connection.add_event_handler("closed", self._on_gone)

    @property
    def external_id(self) -> str:
        """The peer connection's id."""
        return str(self._connection.pc_id)

    @property
    def transport(self) -> SmallWebRTCTransport:
        """The ends of the pipeline."""
        return self._transport

    @property
    def events(self) -> AsyncIterator[LineEvent]:
        """Everything that happens, for one reader; ends after `Ended`."""
        return until_ended(self._queue)

    async def accept(self, sdp: str) -> str:
        """Take the browser's offer; returns the answer's SDP.

        Raises:
            LegError: the offer is none.
        """
        try:
            if "\nm=audio " not in sdp:
                raise ValueError("it offers no audio")
            await self._connection.initialize(sdp, "offer")
        except Exception as error:  # aiortc has no error of its own for a bad description
            self.end("engine", Outcome.FAILED, str(error))
            raise LegError(f"the offer could not be read: {error}") from error
        answer = self._connection.get_answer()  # type: ignore[no-untyped-call]
        if answer is None:
            raise LegError("the connection was closed")
        return str(answer["sdp"])

    def connect_within(self, seconds: float) -> None:
        """End the line if no media path is found in time."""
        loop = asyncio.get_running_loop()
        self._patience = loop.call_later(seconds, self.end, "engine", Outcome.UNREACHABLE, "no media path")

    async def _disconnect(self) -> None:
        await self._connection.disconnect()  # type: ignore[no-untyped-call]

    async def _on_connected(self, _: SmallWebRTCConnection) -> None:
        if self._patience is not None:
            self._patience.cancel()
        if not self._answered:
            self._answered = True
            self._queue.put_nowait(Answered())

    async def _on_failed(self, _: SmallWebRTCConnection) -> None:
        self.end("engine", Outcome.FAILED if self._answered else Outcome.UNREACHABLE, "ICE failed")

    async def _on_gone(self, _: SmallWebRTCConnection) -> None:
        self.end("customer", Outcome.COMPLETED if self._answered else Outcome.CANCELLED, "the browser has gone")

    def end(self, by: Party, outcome: Outcome, detail: str) -> None:
        """Note the end; the first word counts."""
        if self._ended is not None:
            return
        if self._ending is not None:
            by, outcome = "assistant", self._ending
        self._ended = Ended(by, outcome, None, detail)
        if self._patience is not None:
            self._patience.cancel()
        self._queue.put_nowait(self._ended)
        # Also where the browser has gone: its sockets are ours to close.
        self._closing = asyncio.get_running_loop().create_task(self._disconnect())
        for listener in self.on_ended:
            listener(self._ended)

    @override
    async def send_dtmf(self, digits: str) -> None:
        """Raise `LegError`."""
        raise LegError(_TELEPHONE_ONLY)

    async def hold(self) -> None:
        """Raise `LegError`."""
        raise LegError(_TELEPHONE_ONLY)

    async def resume(self) -> None:
        """Raise `LegError`."""
        raise LegError(_TELEPHONE_ONLY)

    @override
    async def transfer(self, to: str, mode: TransferMode = "blind", *, consultation: Line | None = None) -> Transferred:
        """Raise `LegError`."""
        raise LegError(_TELEPHONE_ONLY)

    async def hangup(self) -> None:
        """Close the connection."""
        if self._ended is not None:
            return
        self._ending = Outcome.COMPLETED if self._answered else Outcome.CANCELLED
        self.end("assistant", self._ending, "")
        if self._closing is not None:
            await self._closing
