"""Asterisk in front: its REST interface (ARI) for calls, its websocket channel for their media.

What is imported here loads no media: the supervisor does it too.
"""

from .orphans import end_dialogs

__all__ = ["end_dialogs"]
