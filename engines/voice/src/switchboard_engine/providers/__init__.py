"""Providers: from the entries of the catalogue to Pipecat's services.

`services()` is made once a worker. The tables of vendors are in `stt`, `tts`, `llm` and `realtime`, their environment
variables in `accounts`.
"""

from .errors import ProviderError
from .services import Services, services

__all__ = ["ProviderError", "Services", "services"]
