"""SIP in the process. What is imported here loads no stack: the supervisor does it too."""

from .orphans import end_dialogs

__all__ = ["end_dialogs"]
