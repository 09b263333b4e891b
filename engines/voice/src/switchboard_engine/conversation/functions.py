"""The functions that the model may call: tools that the service asks, the knowledge, and what the engine does itself.

A function always answers the model, with a sentence where it could not be done. A tool outlives an interruption: its
result comes into the conversation even if the customer has said something meanwhile.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from pipecat.frames.frames import FunctionCallResultProperties
from pipecat.services.llm_service import FunctionCallParams

from ..client import Assistant, CallLostError, ServiceError, ToolError
from ..client.tools import TIMEOUT_MAX
from ..client.wire import Function, Json, ToolAnswer, integer, text
from ..legs import LegError
from ..services import LanguageModel
from .fallback import ToolFallback
from .settings import built_in_tools
from .talk import Talk
from .transfers import Transfers

PASSAGES = 5
RESULT_CHARS_MAX = 8_000
"""Longest answer of a function that the model reads; a longer one is cut, with a mark."""
_SLACK_S = 10.0
"""What a function may take beyond the timeout of its tool: the way to the service and back."""
_OWN_TIMEOUT_S = 120.0
_REFUSED = 422
"""HTTP status of a tool whose arguments do not fit its schema."""

Answer = Callable[[Mapping[str, Any]], Awaitable["str | None"]]
"""Carries a function out; returns what the model is told, None for nothing: then the model does not go on by itself."""

_log = logging.getLogger(__name__)


class Functions:
    """Carries out the functions of one conversation."""

    UNSUPPORTED = ("assistant_transfer",)
    """Functions that it cannot carry out, and does not offer."""

    def __init__(self, talk: Talk, transfers: Transfers, fallback: ToolFallback | None = None) -> None:
        """Act on a conversation; `fallback` mends arguments that a tool refuses."""
        self._talk = talk
        self._transfers = transfers
        self._fallback = fallback
        self._assistant: Assistant = talk.call.assistant
        self._own: dict[str, Answer] = {
            "end_call": self._end_call,
            "dtmf_input": self._press,
            "call_transfer": self._transfer,
            "warm_call_transfer": self._warm_transfer,
            "collect_keypad": self._collect,
            "search_knowledgebase": self._search,
        }

    @classmethod
    def offered(cls, assistant: Assistant) -> list[Function]:
        """Return the functions that the model is told of."""
        return [function for function in assistant.functions if function.name not in cls.UNSUPPORTED]

    def register(self, llm: LanguageModel) -> None:
        """Have a model call them."""
        for function in self.offered(self._assistant):
            own = self._own.get(function.name)
            timeout_s = (function.timeout or TIMEOUT_MAX) + _SLACK_S if own is None else _OWN_TIMEOUT_S
            llm.register_function(
                function.name,
                self._handler(own or self._tool(function)),
                cancel_on_interruption=False,
                timeout_secs=timeout_s,
            )

    def _handler(self, answer: Answer) -> Callable[[FunctionCallParams], Awaitable[None]]:
        async def handle(params: FunctionCallParams) -> None:
            talk = self._talk
            talk.working += 1
            try:
                told = await answer(params.arguments)
            except CallLostError:
                told = None
            except (ToolError, ServiceError) as error:
                told = f"This did not work: {error.message}"
            except (LegError, ValueError) as error:
                told = f"This did not work: {error}"
            finally:
                talk.working -= 1
                talk.signals.customer_acts()
            properties = FunctionCallResultProperties(run_llm=told is not None)
            await params.result_callback(_clipped(told or "Done."), properties=properties)

        return handle

    def _tool(self, function: Function) -> Answer:
        async def ask(arguments: Mapping[str, Any]) -> str:
            try:
                answer = await self._talk.call.tool(function.name, arguments)
            except ToolError as error:
                answer = await self._tool_again(function, arguments, error)
            if 200 <= answer.status < 300:  # noqa: PLR2004 - HTTP's successes
                return answer.body or "Done."
            return f"The tool answered with the HTTP status {answer.status}: {answer.body}"

        return ask

    async def _tool_again(self, function: Function, arguments: Mapping[str, Any], error: ToolError) -> ToolAnswer:
        """Ask a tool once more, with the arguments of the fallback model; raises the error where it has none."""
        if self._fallback is None or error.status != _REFUSED:
            raise error
        context = self._talk.pipeline.context
        better = await self._fallback.arguments(function, arguments, error.message, context)
        if better is None or better == arguments:
            raise error
        return await self._talk.call.tool(function.name, better)

    async def _search(self, arguments: Mapping[str, Any]) -> str:
        passages = await self._talk.call.knowledge(str(arguments.get("query") or ""), PASSAGES)
        if not passages:
            return "The knowledgebase has nothing about that."
        return "\n\n".join(f"{passage.document_name or 'A document'}: {passage.text}" for passage in passages)

    async def _end_call(self, _: Mapping[str, Any]) -> None:
        # A model may end the call without a word of its own.
        goodbye = self._talk.phrases.goodbye
        self._talk.end_after_speech("assistant", "the assistant ended the call", farewell=goodbye)

    async def _press(self, arguments: Mapping[str, Any]) -> str:
        await self._talk.send_keys(str(arguments.get("digits") or ""))
        return "The keys were pressed."

    async def _collect(self, _: Mapping[str, Any]) -> str:
        tool = next(iter(built_in_tools(self._assistant, "collect_keypad")), {})
        await self._talk.said()
        keys = await self._talk.keypad.collect(
            stop_key=text(tool, "stop_key") or "#", timeout_s=float(integer(tool, "timeout") or 5)
        )
        return f"The customer typed {keys}." if keys else "The customer typed nothing."

    async def _transfer(self, arguments: Mapping[str, Any]) -> str | None:
        return await self._transfers.to_person(self._settings_of("call_transfer"), text(arguments, "phone_number"))

    async def _warm_transfer(self, _: Mapping[str, Any]) -> str | None:
        return await self._transfers.warm(self._settings_of("warm_call_transfer"))

    def _settings_of(self, kind: str) -> Json:
        """Return the settings of a tool: those in its function, and where that has none, the stored ones."""
        function = self._assistant.function(kind)
        stored = next(iter(built_in_tools(self._assistant, kind)), {})
        return {**stored, **(function.raw if function is not None else {})}


def _clipped(answer: str) -> str:
    return answer if len(answer) <= RESULT_CHARS_MAX else f"{answer[:RESULT_CHARS_MAX]} [The answer was cut here.]"
