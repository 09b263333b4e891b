"""Fail-over of language models: an answer that does not come, breaks off or is empty is asked of the next one."""

from collections.abc import Callable, Sequence
from typing import Any, cast

from pipecat.frames.frames import (
    Frame,
    FunctionCallsStartedFrame,
    InterruptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    LLMThoughtTextFrame,
    LLMUpdateSettingsFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.services.llm_service import LLMService

from .base import Failover
from .candidate import Candidate, Patience
from .outages import Outages


class LlmFailover(Failover):
    """A language model with its substitutes.

    The substitute answers from the beginning: after an answer that broke off, the customer may hear its first words
    twice. Functions and event handlers that are registered here are those of every model.
    """

    what = "The language model"
    updates = LLMUpdateSettingsFrame
    consumed: tuple[type[Frame], ...] = (LLMContextFrame,)
    from_behind = (LLMContextFrame,)

    def __init__(self, candidates: Sequence[Candidate], patience: Patience, outages: Outages | None = None) -> None:
        """Build the first of `candidates` that can be built."""
        self._registrations: list[Callable[[LLMService[Any]], None]] = []
        self._is_open = False
        self._has_answered = False
        super().__init__([self._registering(candidate) for candidate in candidates], patience, outages)

    def _registering(self, candidate: Candidate) -> Candidate:
        def build() -> LLMService[Any]:
            service = cast("LLMService[Any]", candidate.build())
            for register in self._registrations:
                register(service)
            return service

        return Candidate(candidate.name, build)

    @property
    def model(self) -> LLMService[Any] | None:
        """The language model at work."""
        return cast("LLMService[Any] | None", self.service)

    def register_function(self, function_name: str | None, handler: Any, **options: Any) -> None:  # noqa: ANN401
        """Register a function for every model, as `LLMService.register_function` does."""
        self._register(lambda service: service.register_function(function_name, handler, **options))

    def add_model_event_handler(self, event: str, handler: Any) -> None:  # noqa: ANN401
        """Add a handler of the models' events, such as `on_function_calls_started`."""
        self._register(lambda service: service.add_event_handler(event, handler))

    def _register(self, register: Callable[[LLMService[Any]], None]) -> None:
        self._registrations.append(register)
        if self.model:
            register(self.model)

    async def run_inference(self, context: LLMContext, **options: Any) -> str | None:  # noqa: ANN401
        """Ask the model at work once, beside the conversation."""
        return await self.model.run_inference(context, **options) if self.model else None

    def owes(self, frame: Frame) -> bool:
        """Return whether it is to be answered."""
        return isinstance(frame, LLMContextFrame)

    def given(self, frame: Frame) -> None:
        """Expect an answer, to the latest context only."""
        if isinstance(frame, LLMContextFrame):
            self.journal.drop(lambda owed: owed.id != frame.id)
            self._has_answered = False
            self.expect()
        elif isinstance(frame, InterruptionFrame):
            self._is_open = False

    async def gave(self, frame: Frame) -> bool:
        """Expect the rest of an answer, until its end."""
        if isinstance(frame, LLMFullResponseStartFrame):
            first, self._is_open = not self._is_open, True
            return first
        if isinstance(frame, LLMTextFrame | LLMThoughtTextFrame):
            self._has_answered = True
            self.expect()
        elif isinstance(frame, FunctionCallsStartedFrame):
            self._has_answered = True
            self.disarm()  # how long a function takes is not the model's fault
        elif isinstance(frame, LLMFullResponseEndFrame):
            return self._ended()
        return True

    def _ended(self) -> bool:
        if self.journal.owed() and not self._has_answered:
            self.fail("gave an empty answer")
            return False
        self.journal.drop(lambda _: True)
        self.disarm()
        self.succeeded()
        self._is_open = False
        return True

    async def left(self, *, for_good: bool) -> None:
        """End an answer that broke off, so that the next begins one of its own; an empty one goes on."""
        if self._is_open and (for_good or self._has_answered):
            self._is_open = False
            await self.push_frame(LLMFullResponseEndFrame())
