"""The speech and language services of a conversation, behind the one interface of the factory that makes them.

A factory is named as `module:function` in `SWITCHBOARD_ENGINE_SERVICES` or with `--services`; the function takes no
argument and returns a `Services`. It is called once a process.
"""

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.services.llm_service import FunctionCallParams

from .client.wire import Json
from .plugs import SERVICES_VARIABLE, load

DEFAULT_SERVICES = "switchboard_engine.providers:services"


class ProviderError(Exception):
    """A service cannot be made; the message is a sentence that says what is missing, and where to give it."""


class LanguageModel(Protocol):
    """What is used of a language model, which is a Pipecat processor besides: one `LLMService`, or several behind one.

    mypy has no type that is both, so a pipeline takes the processor by a check.
    """

    def register_function(
        self,
        function_name: str,
        handler: Callable[[FunctionCallParams], Awaitable[None]],
        *,
        cancel_on_interruption: bool,
        timeout_secs: float,
    ) -> None:
        """Have `handler` called for a function, as `LLMService.register_function` does."""

    async def run_inference(self, context: LLMContext, *, max_tokens: int, system_instruction: str) -> str | None:
        """Answer once, beside the conversation."""


class Services(Protocol):
    """Makes the services of one conversation; each method raises `ProviderError` where it cannot.

    Entries are those of the catalogue as the claimed assistant has them, with the opaque object `engine`
    (`{vendor, model, voice_id, …}`), None where the assistant has none; `options` is the claimed assistant itself.
    Languages are codes such as `en-US`. A service that others stand in for is one processor to the conversation, which
    is not usable any more once the last of them has failed.
    """

    def stt(self, entry: Json | None, *, languages: Sequence[str]) -> FrameProcessor:
        """Make speech-to-text; the first language is the one that the assistant speaks."""

    def tts(
        self, provider: Json | None, voice: Json | None, *, language: str, options: Mapping[str, Any]
    ) -> FrameProcessor:
        """Make text-to-speech, with the speed, stability, similarity and emotion of `options`."""

    def llm(self, entry: Json | None, *, temperature: float | None, prompt: str) -> LanguageModel:
        """Make a language model of chat completions."""

    def realtime(
        self, entry: Json | None, *, voice: Json | None, language: str, options: Mapping[str, Any], prompt: str
    ) -> LanguageModel:
        """Make a speech-to-speech model; with the `mode` `dualplex` of `options` it writes what it says."""

    def unsupported(self, assistant: Json) -> Sequence[str]:
        """Return the names of the assistant's settings that its vendors cannot do."""


@cache
def load_services() -> Services:
    """Return the services of this process; raises `PlugError` where the factory cannot be loaded."""
    make: Callable[[], Services] = load(os.environ.get(SERVICES_VARIABLE) or DEFAULT_SERVICES)
    return make()
