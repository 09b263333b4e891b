"""One call of a browser."""

import asyncio

from pipecat.transports.smallwebrtc.connection import SmallWebRTCConnection
from pipecat.transports.smallwebrtc.transport import SmallWebRTCTransport
from typing_extensions import override

from ..base import BaseLine
from ..leg import Ended, LegError, Line, Outcome, TransferMode, Transferred
from ..transport import parameters

_TELEPHONE_ONLY = "a browser's call has no such thing: it is of telephones"


class WebLine(BaseLine):
    """A `Line` on a peer connection (Pipecat's small WebRTC on aiortc). What is said before `Answered` is lost."""

    def __init__(self, connection: SmallWebRTCConnection) -> None:
        """Take a connection that has no offer yet."""
        super().__init__()
        self._connection = connection
        self._transport = SmallWebRTCTransport(connection, parameters())
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

    async def _on_connected(self, _: SmallWebRTCConnection) -> None:
        self.answered()

    async def _on_failed(self, _: SmallWebRTCConnection) -> None:
        self.end("engine", Outcome.FAILED if self._answered else Outcome.UNREACHABLE, "ICE failed")

    async def _on_gone(self, _: SmallWebRTCConnection) -> None:
        self.end("customer", Outcome.COMPLETED if self._answered else Outcome.CANCELLED, "the browser has gone")

    @override
    def _close(self, ended: Ended) -> None:
        # Also where the browser has gone: its sockets are ours to close.
        self._closing = asyncio.get_running_loop().create_task(self._disconnect())

    async def _disconnect(self) -> None:
        await self._connection.disconnect()  # type: ignore[no-untyped-call]

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

    @override
    async def hangup(self) -> None:
        """Close the connection."""
        await super().hangup()
        if self._closing is not None:
            await self._closing
