"""The voice conversation: what the engine does with each call by default."""

from ..client import Call
from ..legs import LegError
from ..legs.registry import Legs
from ..services import load_services
from . import warm_up
from .conversation import Conversation

__all__ = ["converse"]


class Converse:
    """The handler of calls; what it needs is loaded once, by `warm_up`."""

    async def __call__(self, call: Call) -> None:
        """Hold the conversation of a call from its claim or arrival to its end."""
        try:
            legs = Legs.current()
        except LegError as error:
            await call.release(str(error))
            return
        await Conversation(call, load_services(), legs).run()

    async def warm_up(self) -> None:
        """Load the services' factory and hold a turn with nobody; raises `PlugError` for a wrong factory."""
        load_services()
        await warm_up.warm_up()


converse = Converse()
"""The handler of the voice conversation."""
