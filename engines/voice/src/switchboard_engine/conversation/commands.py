"""Commands of the service: carried out while the conversation runs, each answered once."""

import logging
from collections.abc import Awaitable, Callable

from ..client import Command
from ..legs import LegError
from .talk import Talk

_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """A command cannot be carried out; the message says why."""


class Commands:
    """Carries out the commands of one call, in their order."""

    def __init__(self, talk: Talk) -> None:
        """Act on a conversation."""
        self._talk = talk
        self._known: dict[str, Callable[[Command], Awaitable[None]]] = {
            "hangup": self._hang_up,
            "end": self._end,
            "say": self._say,
            "context": self._context,
            "transfer": self._transfer,
            "dtmf": self._press,
            "hold": self._hold,
            "resume": self._resume,
        }

    async def run(self) -> None:
        """Carry out commands until the call is over."""
        async for command in self._talk.call.commands:
            await self.obey(command)

    async def obey(self, command: Command) -> None:
        """Carry out one command and report its end."""
        call, act = self._talk.call, self._known.get(command.type)
        if act is None:
            await call.refused(command, f"This engine cannot {command.type}.")
            return
        try:
            await act(command)
        except (RefusedError, LegError, ValueError) as error:
            await call.refused(command, str(error))
        else:
            await call.done(command)

    async def _hang_up(self, _: Command) -> None:
        self._talk.end("engine", "hangup")

    async def _end(self, command: Command) -> None:
        if command.after == "sentence":
            self._talk.end_after_speech("engine", "hangup")
        else:
            self._talk.end("engine", "hangup")

    async def _say(self, command: Command) -> None:
        if not command.text:
            raise RefusedError("There is nothing to say: `text` is empty.")
        await self._talk.say(command.text)

    async def _context(self, command: Command) -> None:
        if not command.text:
            raise RefusedError("There is nothing to tell the model: `text` is empty.")
        await self._talk.context(command.text, run=False)

    async def _transfer(self, command: Command) -> None:
        if not command.to:
            raise RefusedError("There is nobody to transfer to: `to` is empty.")
        result = await self._talk.transfer(command.to)
        if result.status == "failed":
            raise RefusedError(result.reason or "The transfer failed.")

    async def _press(self, command: Command) -> None:
        await self._talk.send_keys(command.digits or "")

    async def _hold(self, _: Command) -> None:
        await self._talk.hold()

    async def _resume(self, _: Command) -> None:
        await self._talk.resume()
