"""The fallback model of a speech-to-speech assistant: it mends the tool calls that its own model got wrong."""

import asyncio
import json
import logging
from collections.abc import Mapping
from typing import Any

from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameProcessor

from ..client import Assistant
from ..client.wire import Function
from ..services import LanguageModel, ProviderError, Services

WITHIN_S = 6.0
"""How long the model may take: the customer waits for it."""
TOKENS_MAX = 500
CONVERSATION_CHARS_MAX = 20_000
"""Most of the conversation that it reads, the end of it."""

_TASK = (
    "A tool of a telephone assistant refused the arguments that it was called with. Read the conversation and reply "
    "with one JSON object and nothing else: the arguments that the tool's schema asks for. Take values only from the "
    "conversation. If it does not have one that is required, reply with {}."
)

_log = logging.getLogger(__name__)


class ToolFallback:
    """Asks a language model for the arguments of a tool, beside the conversation."""

    def __init__(self, llm: LanguageModel) -> None:
        """Take the model, which is closed with this."""
        self._llm = llm

    @classmethod
    def make(cls, assistant: Assistant, services: Services) -> "ToolFallback | None":
        """Make it of the assistant's `chat_llm_fallback`; None where there is none, or it cannot be made."""
        entry = assistant.chat_llm_fallback
        if entry is None:
            return None
        try:
            return cls(services.llm(entry.raw, temperature=0.0, prompt=_TASK))
        except ProviderError as error:
            _log.warning("the fallback model cannot be made: %s", error)
            return None

    async def arguments(
        self, function: Function, refused: Mapping[str, Any], reason: str, context: LLMContext
    ) -> Mapping[str, Any] | None:
        """Return better arguments for a tool that refused some for a reason; None where the model knows no others."""
        said = [
            f"{message['role']}: {message['content']}"
            for message in context.get_messages()
            if isinstance(message, dict) and message.get("role") in ("user", "assistant") and message.get("content")
        ]
        asked = {
            "tool": function.name,
            "description": function.description,
            "schema": function.parameters,
            "refused": refused,
            "reason": reason,
        }
        question = f"{json.dumps(asked, ensure_ascii=False)}\n\n" + "\n".join(said)[-CONVERSATION_CHARS_MAX:]
        try:
            async with asyncio.timeout(WITHIN_S):
                answer = await self._llm.run_inference(
                    LLMContext([{"role": "user", "content": question}]),
                    max_tokens=TOKENS_MAX,
                    system_instruction=_TASK,
                )
        except Exception as error:  # whatever is wrong with it, the conversation goes on
            _log.warning("the fallback model gave no arguments for %s: %r", function.name, error)
            return None
        return _object(answer or "")

    async def close(self) -> None:
        """Let go of the model's connections."""
        if isinstance(self._llm, FrameProcessor):
            await self._llm.cleanup()  # type: ignore[no-untyped-call]


def _object(answer: str) -> Mapping[str, Any] | None:
    """Return the JSON object of an answer, which may stand in a fence; None where there is none, or an empty one."""
    begin, end = answer.find("{"), answer.rfind("}")
    try:
        value = json.loads(answer[begin : end + 1]) if begin >= 0 else None
    except ValueError:
        return None
    return value if isinstance(value, dict) and value else None
