"""Providers: from the entries of the catalogue to Pipecat's services.

`services()` is made once a worker. The tables of vendors are in `stt`, `tts`, `llm` and `realtime`, their environment
variables in `accounts`.
"""

from .services import ProviderServices, services

__all__ = ["ProviderServices", "services"]
