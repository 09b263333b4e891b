"""The pipeline of a conversation: its services, in the order in which sound becomes text and text becomes sound."""

import asyncio
import logging
from dataclasses import dataclass, field

from pipecat.adapters.llm.schemas.function_schema import FunctionSchema
from pipecat.adapters.llm.schemas.tools_schema import ToolsSchema
from pipecat.audio.mixers.base_audio_mixer import BaseAudioMixer
from pipecat.frames.frames import Frame, InputAudioRawFrame
from pipecat.observers.base_observer import BaseObserver
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineParams, PipelineWorker
from pipecat.processors.aggregators.llm_context import LLMContext
from pipecat.processors.aggregators.llm_response_universal import LLMContextAggregatorPair, LLMUserAggregatorParams
from pipecat.processors.filters.function_filter import FunctionFilter
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.transports.base_transport import BaseTransport, TransportParams
from pipecat.turns.user_mute import BaseUserMuteStrategy
from pipecat.turns.user_turn_strategies import ExternalUserTurnStrategies
from pipecat.workers.runner import WorkerRunner

from ..client import Assistant
from ..client.wire import CatalogueEntry, Function, Json
from ..services import LanguageModel, ProviderError, Services
from . import turns
from .settings import ConversationSettings

PIPELINE_HZ = 16_000

STOP_S = 3.0
"""How long a pipeline may take to stop before it is left to itself."""

_log = logging.getLogger(__name__)


@dataclass
class Stages:
    """The services of a conversation; a mode has those that it needs."""

    llm: LanguageModel
    stt: FrameProcessor | None = None
    tts: FrameProcessor | None = None

    @classmethod
    def make(cls, assistant: Assistant, settings: ConversationSettings, services: Services) -> "Stages":
        """Make the services; raises `ProviderError`."""
        if settings.mode == "pipeline":
            return cls(
                stt=services.stt(_raw(assistant.transcriber_provider), languages=settings.languages),
                llm=services.llm(_raw(assistant.llm_model), temperature=settings.temperature, prompt=settings.prompt),
                tts=text_to_speech(assistant, settings, services),
            )
        llm = services.realtime(
            _raw(assistant.multimodal_model),
            voice=_raw(assistant.voice),
            language=settings.language,
            options=assistant.raw,
            prompt=settings.prompt,
        )
        return cls(llm=llm, tts=text_to_speech(assistant, settings, services) if settings.mode == "dualplex" else None)

    @property
    def model(self) -> FrameProcessor:
        """The language model as a part of the pipeline; raises `ProviderError` where the factory made none."""
        if not isinstance(self.llm, FrameProcessor):
            raise ProviderError("The language model is no processor of Pipecat's.")
        return self.llm

    @property
    def named(self) -> dict[str, FrameProcessor]:
        """The services by what they are to a reader of the call."""
        named = {"speech-to-text": self.stt, "language model": self.model, "text-to-speech": self.tts}
        return {name: stage for name, stage in named.items() if stage is not None}


def text_to_speech(assistant: Assistant, settings: ConversationSettings, services: Services) -> FrameProcessor:
    """Make the voice of an assistant; raises `ProviderError`."""
    provider, voice = _raw(assistant.synthesizer_provider), _raw(assistant.voice)
    return services.tts(provider, voice, language=settings.language, options=assistant.raw)


def _raw(entry: CatalogueEntry | None) -> Json | None:
    return None if entry is None else entry.raw


@dataclass
class Middle:
    """What the conversation itself puts between the services, in this order, and beside them."""

    listening: FrameProcessor
    speaker: FrameProcessor
    speech: FrameProcessor
    recorder: FrameProcessor | None = None
    observers: list[BaseObserver] = field(default_factory=list)


class ConversationPipeline:
    """Services and what is between them, on the two ends of a line; runs from `start` to `stop`."""

    def __init__(
        self,
        stages: Stages,
        middle: Middle,
        context: LLMContext,
        user: FrameProcessor,
        bot: FrameProcessor,
        *,
        end_of_sound: FrameProcessor | None,
    ) -> None:
        """Take what `build` made."""
        self.stages, self.context = stages, context
        self.worker: PipelineWorker
        self._middle, self._user, self._bot, self._end_of_sound = middle, user, bot, end_of_sound
        self._started = asyncio.Event()
        self._runner: WorkerRunner | None = None
        self._running: asyncio.Task[None] | None = None

    @classmethod
    async def build(
        cls,
        stages: Stages,
        middle: Middle,
        settings: ConversationSettings,
        functions: list[Function],
        mute: BaseUserMuteStrategy,
    ) -> "ConversationPipeline":
        """Load models and put all together; takes 100 to 400 ms, most of it beside the event loop."""
        context = LLMContext(tools=_tools(functions))
        if settings.mode == "pipeline":
            vad, model = await asyncio.gather(
                asyncio.to_thread(turns.vad, settings.turns), asyncio.to_thread(turns.turn_model, settings.turns)
            )
            params = LLMUserAggregatorParams(
                user_turn_strategies=turns.strategies(settings.turns, model, greets=settings.greets),
                user_turn_stop_timeout=turns.UNHEARD_S,
                user_mute_strategies=[mute],
                # What was not understood is answered by `Unheard`.
                empty_user_turn=None,
                vad_analyzer=vad,
            )
        else:
            # The model hears the customer, and finds the turns itself.
            params = LLMUserAggregatorParams(
                user_turn_strategies=ExternalUserTurnStrategies(), user_mute_strategies=[mute]
            )
        user, bot = LLMContextAggregatorPair(context, user_params=params)
        end_of_sound = _end_of_sound() if settings.mode == "pipeline" else None
        return cls(stages, middle, context, user, bot, end_of_sound=end_of_sound)

    def attach(self, transport: BaseTransport, mixer: BaseAudioMixer | None) -> None:
        """Put the pipeline between the ends of a line."""
        if mixer is not None:
            parameters(transport).audio_out_mixer = mixer
        stages, middle = self.stages, self._middle
        order = (
            transport.input(),
            stages.stt,
            middle.listening,
            self._user,
            self._end_of_sound,
            stages.model,
            middle.speaker,
            stages.tts,
            transport.output(),
            middle.recorder,
            middle.speech,
            self._bot,
        )
        self.worker = PipelineWorker(
            Pipeline([part for part in order if part is not None]),
            params=PipelineParams(
                audio_in_sample_rate=PIPELINE_HZ,
                audio_out_sample_rate=PIPELINE_HZ,
                enable_metrics=True,
                enable_usage_metrics=True,
            ),
            observers=middle.observers,
            cancel_on_idle_timeout=False,
            cancel_timeout_secs=STOP_S,
            idle_timeout_secs=None,
            enable_rtvi=False,
            enable_turn_tracking=False,
        )
        self.worker.add_event_handler("on_pipeline_started", self._on_started)

    async def _on_started(self, *_: object) -> None:
        self._started.set()

    async def start(self, within_s: float) -> bool:
        """Run, and return whether every service was ready in time; a second call only waits."""
        if self._running is None:
            self._runner = WorkerRunner(handle_sigint=False)
            await self._runner.add_workers(self.worker)
            self._running = asyncio.create_task(self._runner.run())
        waiting = asyncio.create_task(self._started.wait())
        try:
            await asyncio.wait({waiting, self._running}, timeout=within_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        return self._started.is_set() and not self._running.done()

    @property
    def running(self) -> "asyncio.Task[None] | None":
        """The task of the pipeline."""
        return self._running

    async def stop(self) -> None:
        """Stop at once; what was not said yet is not said any more."""
        running = self._running
        if running is None:
            return
        await self.worker.cancel()
        await asyncio.wait({running}, timeout=STOP_S + 1)
        if not running.done():
            _log.warning("a pipeline does not stop")
            running.cancel()
            await asyncio.wait({running}, timeout=1)


def parameters(transport: BaseTransport) -> TransportParams:
    """Return the settings of a line's ends, which they read when the pipeline starts."""
    # Pipecat's transports and ours keep them under this name, and have no other way to a mixer or a filter.
    params: TransportParams = transport._params  # type: ignore[attr-defined]
    return params


def _end_of_sound() -> FrameProcessor:
    """Return where the customer's sound ends: behind the turns, a model of text and a voice have no use for it.

    Each processor that every packet passes costs a call half a percent of a core.
    """

    async def passes(frame: Frame) -> bool:
        return not isinstance(frame, InputAudioRawFrame)

    return FunctionFilter(passes, filter_system_frames=True, enable_direct_mode=True)


def _tools(functions: list[Function]) -> ToolsSchema:
    return ToolsSchema(
        standard_tools=[
            FunctionSchema(
                name=function.name,
                description=function.description,
                properties=dict(function.parameters.get("properties") or {}),
                required=list(function.parameters.get("required") or []),
            )
            for function in functions
        ]
    )
