"""The voice conversation: what the engine does with each call by default."""

from ..client import Call
from ..lines import lines
from .conversation import Conversation
from .services import services

__all__ = ["converse"]


async def converse(call: Call) -> None:
    """Hold the conversation of a call from its claim or arrival to its end."""
    await Conversation(call, services(), lines).run()
