"""Services without speech: what the customer says comes as text from the test, and the assistant's voice is a tone."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pipecat.frames.frames import (
    ErrorFrame,
    Frame,
    FunctionCallFromLLM,
    InputAudioRawFrame,
    InterimTranscriptionFrame,
    LLMContextFrame,
    LLMFullResponseEndFrame,
    LLMFullResponseStartFrame,
    LLMTextFrame,
    TranscriptionFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    TTSTextFrame,
    UserStartedSpeakingFrame,
    UserStoppedSpeakingFrame,
    VADUserStartedSpeakingFrame,
    VADUserStoppedSpeakingFrame,
)
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.frame_processor import FrameDirection, FrameProcessor
from pipecat.services.llm_service import LLMService
from pipecat.services.settings import TTSSettings
from pipecat.services.tts_service import TTSService
from pipecat.transcriptions.language import Language
from pipecat.utils.errors import ErrorCategory
from pipecat.utils.text.base_text_aggregator import TextType
from pipecat.utils.time import time_now_iso8601

from legs.sound import tone
from switchboard_engine.client.wire import Json
from switchboard_engine.conversation.warm_up import NO_SETTINGS
from switchboard_engine.local import LocalServices
from switchboard_engine.services import ProviderError

HZ = 16_000
SECONDS_A_CHARACTER = 1 / 40
VAD_S = 0.2


class TypedSTT(FrameProcessor):
    """Speech-to-text whose customer is the test."""

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        await self.push_frame(frame, direction)

    async def begin(self) -> None:
        """Let the customer begin to speak."""
        await self.push_frame(VADUserStartedSpeakingFrame(start_secs=VAD_S))

    async def partly(self, text: str) -> None:
        await self.push_frame(InterimTranscriptionFrame(text, "", time_now_iso8601()))

    async def finish(self, text: str, language: Language = Language.EN) -> None:
        """Let the customer stop, and be understood."""
        await self.push_frame(VADUserStoppedSpeakingFrame(stop_secs=VAD_S))
        if text:
            frame = TranscriptionFrame(text, "", time_now_iso8601(), language)
            frame.finalized = True
            await self.push_frame(frame)

    async def say(self, text: str, language: Language = Language.EN) -> None:
        """Let the customer say something in one breath."""
        await self.begin()
        await asyncio.sleep(0.05)
        await self.finish(text, language)

    async def fail(self, category: ErrorCategory) -> None:
        await self.push_error("the ear is broken", category=category)


class ToneTTS(TTSService):
    """Text-to-speech whose voice is a tone, as long as the text has characters; `broken` fails instead."""

    def __init__(self) -> None:
        super().__init__(
            push_start_frame=True,
            push_stop_frames=True,
            settings=TTSSettings(model="tone", voice="tone", language=None),
        )
        self.said: list[str] = []
        self.languages: list[Any] = []
        self.broken: ErrorCategory | None = None

    def can_generate_metrics(self) -> bool:
        return True

    async def _update_settings(self, delta: TTSSettings) -> dict[str, Any]:  # type: ignore[override]
        self.languages.append(delta.language)
        return await super()._update_settings(delta)

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame, None]:
        self.said.append(text)
        await self.start_tts_usage_metrics(text)
        if self.broken is not None:
            yield ErrorFrame("the voice is broken", category=self.broken)
            return
        sound = tone(440, len(text) * SECONDS_A_CHARACTER, HZ).tobytes()
        for at in range(0, len(sound), 3_200):
            yield TTSAudioRawFrame(sound[at : at + 3_200], HZ, 1, context_id=context_id)


class WordTTS(ToneTTS):
    """Text-to-speech that tells the time of each word."""

    def __init__(self) -> None:
        super().__init__()
        self._push_text_frames = False

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame, None]:
        async for frame in super().run_tts(text, context_id):
            yield frame
        await self.start_word_timestamps()  # type: ignore[no-untyped-call]
        places = _places(text)
        await self.add_word_timestamps(
            [(word, place * SECONDS_A_CHARACTER) for word, place in zip(text.split(), places, strict=True)], context_id
        )


def _places(text: str) -> list[int]:
    places, place = [], 0
    for word in text.split():
        places.append(place)
        place += len(word) + 1
    return places


class FakeRealtime(LLMService[Any]):
    """A speech-to-speech model: answers with `answers` when the test lets the customer speak."""

    def __init__(self, *, speaks: bool) -> None:
        super().__init__(settings=replace(NO_SETTINGS, model="realtime"))
        self.speaks = speaks
        self.instructions: list[str] = []
        self.context: LLMContext | None = None
        self.contexts: list[list[Any]] = []
        self.answers: list[str] = []

    def service_metadata_frame(self) -> Any:
        frame = super().service_metadata_frame()
        frame.is_realtime_service = True
        return frame

    async def process_frame(self, frame: Frame, direction: FrameDirection) -> None:
        await super().process_frame(frame, direction)
        if isinstance(frame, LLMContextFrame):
            self.context = frame.context
            self.contexts.append(list(frame.context.get_messages()))
            # What the customer said it has heard itself.
            if self.contexts[-1][-1]["role"] == "developer":
                await self.answer(self.answers.pop(0) if self.answers else "Yes.")
        elif not isinstance(frame, InputAudioRawFrame):
            await self.push_frame(frame, direction)

    async def hear(self, text: str, answer: str) -> None:
        """Hear the customer say something, and answer."""
        await self.broadcast_frame(UserStartedSpeakingFrame)
        await self.broadcast_interruption()  # type: ignore[no-untyped-call]
        await asyncio.sleep(0.05)
        await self.broadcast_frame(UserStoppedSpeakingFrame)
        await self.push_frame(TranscriptionFrame(text, "", time_now_iso8601(), Language.EN), FrameDirection.UPSTREAM)
        await self.answer(answer)

    async def call(self, name: str, arguments: dict[str, Any]) -> None:
        """Call a function; what it answers comes with the next context."""
        await self.run_function_calls([FunctionCallFromLLM(name, "call-1", arguments, self.context)])

    async def answer(self, text: str) -> None:
        await self.push_frame(LLMFullResponseStartFrame())
        if self.speaks:
            await self.push_frame(TTSStartedFrame())
            for word in text.split():
                spoken = TTSTextFrame(word, TextType.WORD)
                await self.push_frame(spoken)
                sound = tone(440, (len(word) + 1) * SECONDS_A_CHARACTER, HZ).tobytes()
                await self.push_frame(TTSAudioRawFrame(sound, HZ, 1))
            await self.push_frame(TTSStoppedFrame())
        else:
            await self.push_frame(LLMTextFrame(text))
        await self.push_frame(LLMFullResponseEndFrame())


class FakeServices(LocalServices):
    """Makes the services above; keeps the last of each, and what they were asked for."""

    def __init__(self) -> None:
        self.ears = TypedSTT
        self.voice: type[ToneTTS] = ToneTTS
        self.made: dict[str, Any] = {}
        self.asked: dict[str, Any] = {}
        self.missing: str | None = None
        self.cannot: tuple[str, ...] = ()

    def stt(self, entry: Json | None, *, languages: Sequence[str]) -> FrameProcessor:
        del entry
        self.asked["languages"] = list(languages)
        self.made["stt"] = self.ears()
        return self.made["stt"]  # type: ignore[no-any-return]

    def tts(
        self, provider: Json | None, voice: Json | None, *, language: str, options: Mapping[str, Any]
    ) -> FrameProcessor:
        del provider, voice
        if self.missing == "tts":
            raise ProviderError("The key of the voice is missing: give it in VOICE_KEY.")
        self.asked["tts"] = {**options, "language": language}
        self.made.setdefault("voices", []).append(self.voice())
        return self.made["voices"][-1]  # type: ignore[no-any-return]

    def llm(self, entry: Json | None, *, temperature: float | None, prompt: str) -> LLMService[Any]:
        self.asked["temperature"] = temperature
        self.made["llm"] = super().llm(entry, temperature=temperature, prompt=prompt)
        return self.made["llm"]  # type: ignore[no-any-return]

    def realtime(
        self, entry: Json | None, *, voice: Json | None, language: str, options: Mapping[str, Any], prompt: str
    ) -> LLMService[Any]:
        del entry, voice
        self.asked["realtime"] = {**options, "language": language, "system": prompt}
        self.made["realtime"] = FakeRealtime(speaks=options["mode"] == "multimodal")
        return self.made["realtime"]  # type: ignore[no-any-return]

    def unsupported(self, assistant: Json) -> list[str]:
        del assistant
        return list(self.cannot)

    @property
    def customer(self) -> TypedSTT:
        """The customer, to say something."""
        return self.made["stt"]  # type: ignore[no-any-return]

    @property
    def tone(self) -> ToneTTS:
        """The assistant's voice."""
        return self.made["voices"][0]  # type: ignore[no-any-return]
