"""Twilio's programmable voice: REST for calls, a websocket for their media.

What is imported here loads no media: the supervisor does it too.
"""

from .orphans import end_dialogs

__all__ = ["end_dialogs"]
