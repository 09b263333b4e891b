"""Fail-over of realtime models: a session that is lost is begun anew, with the conversation so far."""

from pipecat.frames.frames import (
    Frame,
    FunctionCallsStartedFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    UserStoppedSpeakingFrame,
)

from .llm import LlmFailover


class RealtimeFailover(LlmFailover):
    """A realtime model, which answers when it begins and when the customer has spoken.

    What the customer said to a session that is lost is only known to the next if it was transcribed before.
    """

    what = "The realtime model"
    consumed = ()

    _speaks = False

    def given(self, frame: Frame) -> None:
        """Keep the latest context, and expect an answer to the first and to speech."""
        if isinstance(frame, LLMContextFrame):
            is_first = not self.journal.owed()
            self.journal.drop(lambda owed: owed.id != frame.id)
            if is_first:
                self.expect()
        elif isinstance(frame, UserStoppedSpeakingFrame):
            self.expect()

    def given_again(self, frame: Frame) -> None:
        """Expect a new session to answer the context."""
        if isinstance(frame, LLMContextFrame):
            self.expect()

    async def gave(self, frame: Frame) -> bool:
        """Expect nothing more once it answers: it may fall silent whenever it likes."""
        if isinstance(frame, LLMTextFrame | TTSAudioRawFrame | FunctionCallsStartedFrame):
            self.disarm()
            self.succeeded()
        elif isinstance(frame, LLMFullResponseStartFrame | LLMFullResponseEndFrame):
            self._is_open = isinstance(frame, LLMFullResponseStartFrame)
        elif isinstance(frame, TTSStartedFrame | TTSStoppedFrame):
            self._speaks = isinstance(frame, TTSStartedFrame)
        return True

    async def left(self, *, for_good: bool) -> None:  # noqa: ARG002
        """End what the session left open."""
        if self._speaks:
            self._speaks = False
            await self.push_frame(TTSStoppedFrame())
        if self._is_open:
            self._is_open = False
            await self.push_frame(LLMFullResponseEndFrame())
