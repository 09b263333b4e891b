"""The speech and language services of a conversation, behind the one interface of the factory that makes them.

A factory is named as `module:function` in `SWITCHBOARD_ENGINE_SERVICES` or with `--services`; the function takes no
argument and returns a `Services`. It is called once a process.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import LLMService

from ..client.wire import Json
from ..plugs import SERVICES_VARIABLE, load

DEFAULT_SERVICES = "switchboard_engine.providers:services"


class ProviderError(Exception):
    """A service cannot be made: a key is missing, the vendor is unknown; the message says what would help."""


class Services(Protocol):
    """Makes the services of one conversation; each method raises `ProviderError` where it cannot.

    `entry`, `provider` and `voice` are entries of the catalogue as the claimed assistant has them, with the opaque
    object `engine` (`{vendor, model, voice_id, …}`); an empty object where the assistant has none. Languages are codes
    such as `en-US`. A service that another stands in for when it fails is one processor to the conversation.
    """

    def stt(self, entry: Json, *, languages: Sequence[str]) -> FrameProcessor:
        """Make speech-to-text; the first language is the one that the assistant speaks."""

    def tts(self, provider: Json, voice: Json, *, language: str, options: Mapping[str, Any]) -> FrameProcessor:
        """Make text-to-speech; `options`: `speed` (1 is normal), `stability`, `similarity` (0 to 1), `emotion`."""

    def llm(self, entry: Json, *, temperature: float | None) -> LLMService[Any]:
        """Make a language model of chat completions."""

    def realtime(self, entry: Json, *, voice: Json, language: str, options: Mapping[str, Any]) -> LLMService[Any]:
        """Make a speech-to-speech model.

        `options`: `modality` (`audio`, or `text` where the conversation speaks by a text-to-speech of its own),
        `threshold` of its turn detection (0 to 1, None: its own), `temperature`, `speed`.
        """


@cache
def services() -> Services:
    """Return the services of this process; raises `PlugError` where the factory cannot be loaded."""
    make: Callable[[], Services] = load(os.environ.get(SERVICES_VARIABLE) or DEFAULT_SERVICES)
    return make()
