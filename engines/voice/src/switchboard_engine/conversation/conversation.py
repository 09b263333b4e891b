"""One conversation from the claim of its call to its end: the line, the pipeline, and all that acts on them.

Whatever happens, the call gets its end with a plain reason, and nothing is left: neither line, nor pipeline, nor task.
"""

import asyncio
import logging
import time
import wave
from collections.abc import Coroutine
from typing import Any

from pipecat.frames.frames import ErrorFrame, TTSUpdateSettingsFrame
from pipecat.services.settings import TTSSettings

from ..client import Call
from ..client import events as told
from ..legs import Answered, Dtmf, Ended, Hold, LegError, Line, LineEvent, Quality, Resume, Ringing
from ..legs.leg import Arrival
from ..services import Services
from . import endings
from .ambience import BackgroundMixer, sound
from .clocks import Clocks
from .commands import Commands
from .consultation import brief
from .dialing import Dialer, Lines, NoLegError
from .fallback import ToolFallback
from .functions import Functions
from .listening import Listening
from .machines import Machines, MuteSwitch
from .measures import TurnMeasures, UsageCount
from .noise import noise_filter
from .phrases import phrases_of
from .pipeline import PIPELINE_HZ, ConversationPipeline, Middle, Stages, parameters, text_to_speech
from .recording import Recording
from .settings import ConversationSettings, built_in_tools
from .signals import Signals
from .speaker import Speaker
from .speech import Speech
from .talk import End, Talk, background
from .transcript import TranscriptLines
from .transfers import Transfers
from .unheard import Unheard
from .unsupported import unsupported

READY_S = 10.0
"""How long the services may take to connect."""
HANG_UP_S = 5.0
"""How long a line may take to end once it was hung up."""

_BEGIN = "The customer has answered. Begin the conversation with one short sentence."

_log = logging.getLogger(__name__)


class Conversation:
    """The conversation of one call."""

    def __init__(self, call: Call, services: Services, lines: Lines) -> None:
        """Read the assistant; nothing happens before `run`."""
        self._call, self._services = call, services
        self._settings = settings = ConversationSettings.read(call.assistant)
        self._dialer = Dialer(call, lines)
        self._arrival: Arrival | None = lines.arrival_of(call.id)
        self._lines = TranscriptLines(call.report, language=settings.language)
        self._signals = Signals()
        self._speech = Speech(self._lines, speed=settings.speed)
        self._usage = UsageCount()
        self._mute = MuteSwitch()
        self._mixer = BackgroundMixer(settings.ambience)
        self._recording: Recording | None = None
        self._pipeline: ConversationPipeline | None = None
        self._line: Line | None = None
        self._talk: Talk | None = None
        self._clocks: Clocks | None = None
        self._machines: Machines | None = None
        self._unheard: Unheard | None = None
        self._fallback: ToolFallback | None = None
        self._answered = asyncio.Event()
        self._answered_at: float | None = None
        self._ended: asyncio.Future[Ended] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self) -> None:
        """Hold the conversation, and report its end."""
        try:
            end = await self._held()
        except Exception:
            _log.exception("call %d: its conversation broke", self._call.id)
            end = End("engine", "the conversation broke")
        finally:
            await asyncio.shield(asyncio.create_task(self._close()))
        await self._report(end)

    async def _held(self) -> End:
        """Hold the conversation; returns why it ended."""
        try:
            pipeline = await self._prepare()
        except Exception as error:
            _log.warning("call %d: its services cannot be made: %s", self._call.id, error, exc_info=True)
            return await self._refused(f"The assistant's services cannot be made: {error}")
        try:
            line = self._line = await self._get_line()
        except NoLegError as error:
            await self._call.release(str(error))
            return End("engine", str(error), failed=True)
        except LegError as error:
            return End("engine", str(error), failed=True)
        talk = self._talk = self._made_talk(pipeline, line)
        self._spawn(self._follow(line))
        pipeline.attach(line.transport, self._mixer if self._mixes else None)
        self._filter_noise(line)
        pipeline.worker.add_event_handler("on_pipeline_error", self._on_error)
        transfers = Transfers(talk, self._dialer.dial_to, self._brief)
        Functions(talk, transfers, self._fallback).register(pipeline.stages.llm)
        return await self._through(talk, pipeline)

    async def _through(self, talk: Talk, pipeline: ConversationPipeline) -> End:
        """Wait for the services and the answer, talk, and return why it is over."""
        self._spawn(self._begin(talk, pipeline))
        self._spawn(Commands(talk).run())
        lost = self._spawn(self._call.lost.wait())
        ended: asyncio.Future[Any] = self._ended
        await asyncio.wait({ended, talk.over, lost}, return_when=asyncio.FIRST_COMPLETED)
        if talk.over.done():
            return talk.over.result()
        if self._ended.done():
            return endings.of_line(self._ended.result(), answered=self._answered.is_set())
        return End("engine", "the call is lost")

    async def _prepare(self) -> ConversationPipeline:
        """Make the services and the pipeline; raises whatever goes wrong with them."""
        settings, assistant = self._settings, self._call.assistant
        stages = Stages.make(assistant, settings, self._services)
        if settings.mode != "pipeline":
            self._fallback = ToolFallback.make(assistant, self._services)
        of_vendors = self._services.unsupported(assistant.raw)
        names = unsupported(assistant, settings, of_vendors, falls_back=self._fallback is not None)
        names += await self._prepare_sound()
        if names:
            await self._call.report(told.Unsupported(list(dict.fromkeys(names))))
        pipeline_mode = settings.mode == "pipeline"
        self._speaker = Speaker(
            settings.filler_words if settings.fillers and pipeline_mode else None,
            phrases_of(settings.language).waiting if stages.tts is not None else (),
        )
        middle = Middle(
            listening=Listening(self._lines, self._signals, by_model=not pipeline_mode),
            speaker=self._speaker,
            speech=self._speech,
            recorder=self._recording,
            observers=[TurnMeasures(self._lines, self._call.report), self._usage],
        )
        self._pipeline = await ConversationPipeline.build(
            stages, middle, settings, Functions.offered(assistant), self._mute
        )
        return self._pipeline

    async def _prepare_sound(self) -> list[str]:
        """Load the background sound and open the recording; returns what of it cannot be had."""
        failed = []
        if self._settings.ambience is not None:
            try:
                await asyncio.to_thread(sound, self._settings.ambience.sound, PIPELINE_HZ)
            except (ValueError, OSError, EOFError, wave.Error) as error:
                _log.warning("call %d: its background sound cannot be played: %s", self._call.id, error)
                self._mixer = BackgroundMixer(None)
                failed.append("ambient_sound")
        if self._settings.records:
            try:
                self._recording = Recording(self._call.id)
                self._signals.on_sound.append(self._recording.heard)
            except OSError as error:
                _log.error("call %d cannot be recorded: %s", self._call.id, error)
                failed.append("record")
        return failed

    def _made_talk(self, pipeline: ConversationPipeline, line: Line) -> Talk:
        talk = Talk(
            self._call,
            self._settings,
            pipeline,
            line=line,
            speaker=self._speaker,
            speech=self._speech,
            signals=self._signals,
            lines=self._lines,
            mixer=self._mixer,
        )
        talk.keypad.on_row = self._keys
        self._signals.on_language.append(self._language)
        self._unheard = Unheard(talk)
        if self._settings.fillers:
            self._signals.on_said.append(self._speaker.thinking)
        return talk

    @property
    def _mixes(self) -> bool:
        """Whether anything is ever mixed under the assistant's voice: it costs a little while nothing is said."""
        warm = built_in_tools(self._call.assistant, "warm_call_transfer")
        calls = built_in_tools(self._call.assistant, "call_transfer")
        return self._settings.ambience is not None or bool(warm) or any(tool.get("warm_transfer") for tool in calls)

    async def _get_line(self) -> Line:
        """Return the line that rings here, or that is dialed now; raises as `Dialer.dial`."""
        if self._arrival is not None:
            return self._arrival.line
        ringing_s = self._settings.limits.ringing_s
        line = await self._dialer.dial(ringing_s)
        await self._call.report(told.Dialing())
        return line

    async def _refused(self, reason: str) -> End:
        if self._arrival is not None:
            await self._arrival.reject(503)
        return End("engine", reason, failed=True)

    async def _begin(self, talk: Talk, pipeline: ConversationPipeline) -> None:
        """Start the pipeline while it rings, take the call, and begin to talk."""
        if self._arrival is not None:
            await self._arrival.ring()
        if not await pipeline.start(READY_S):
            if self._arrival is not None and not self._answered.is_set():
                await self._arrival.reject(503)
            talk.end("engine", f"the services did not connect within {READY_S:.0f} s", failed=True)
            return
        if pipeline.running is not None:
            self._spawn(self._watch(talk, pipeline.running))
        if self._arrival is not None:
            try:
                await self._arrival.answer()
            except LegError as error:
                _log.info("call %d: %s", self._call.id, error)
        await self._answered.wait()
        await self._greet(talk)

    async def _watch(self, talk: Talk, running: "asyncio.Task[None]") -> None:
        await asyncio.wait({running})
        talk.end("engine", "the pipeline stopped")

    async def _greet(self, talk: Talk) -> None:
        settings = self._settings
        if self._recording is not None:
            self._recording.begin()
        if self._call.info.type == "outbound":
            self._machines = Machines(talk, self._mute)
        self._clocks = Clocks(talk)
        self._spawn(self._clocks.run())
        if settings.greets and settings.greeting:
            await talk.say(settings.greeting)
        elif settings.greets:
            await talk.context(_BEGIN, run=True)

    async def _follow(self, line: Line) -> None:
        """Follow the line to its end."""
        async for event in line.events:
            await self._happened(event)

    async def _happened(self, event: LineEvent) -> None:
        match event:
            case Ringing() if self._arrival is None and not self._answered.is_set():
                await self._call.report(told.Ringing())
            case Answered():
                self._answered_at = time.monotonic()
                by_person = self._call.info.type != "outbound"
                await self._call.report(told.Answered("human" if by_person else "unknown"))
                self._answered.set()
            case Dtmf() if self._talk is not None:
                self._signals.customer_acts()
                await self._call.report(told.Dtmf(event.digit, by="customer"))
                self._talk.keypad.pressed(event.digit)
            case Hold() | Resume() if self._talk is not None:
                self._talk.on_hold = isinstance(event, Hold)
                await self._call.report(told.Hold() if self._talk.on_hold else told.Resume())
            case Quality():
                await self._call.report(
                    told.Quality(
                        mos=round(event.mos, 2),
                        loss=round(event.loss, 4),
                        jitter_ms=round(event.jitter_ms, 1),
                        rtt_ms=round(event.rtt_ms, 1),
                        codec=event.codec,
                    )
                )
            case Ended() if not self._ended.done():
                if self._recording is not None:
                    self._recording.end()
                await self._speech.line_over()
                self._ended.set_result(event)
            case _:
                pass

    async def _keys(self, row: str) -> None:
        if self._talk is not None:
            await self._talk.context(f"The customer pressed these keys: {row}", run=True)

    async def _language(self, language: str) -> None:
        """Go on in the language of the customer, if it is one of the assistant's."""
        spoken = next((code for code in self._settings.languages if _same(code, language)), None)
        if spoken is None or _same(spoken, self._lines.language) or self._talk is None:
            return
        self._lines.language = spoken
        if self._talk.has_voice:
            await self._speaker.push_frame(TTSUpdateSettingsFrame(delta=TTSSettings(language=spoken)))

    def _filter_noise(self, line: Line) -> None:
        """Remove noise from what is heard, where the package for it is there."""
        if self._settings.cancels_noise:
            parameters(line.transport).audio_in_filter = noise_filter()

    async def _brief(self, line: Line, text: str) -> None:
        assistant = self._call.assistant
        tts = text_to_speech(assistant, self._settings, self._services)
        await brief(line, text, tts)

    async def _on_error(self, _: object, frame: ErrorFrame) -> None:
        """Tell the customer and end where a service can no longer do its work; a single failure is asked again."""
        talk, pipeline = self._talk, self._pipeline
        if talk is None or pipeline is None:
            return
        dead = [name for name, stage in pipeline.stages.named.items() if not stage.is_usable]
        if dead:
            reason = f"the {dead[0]} failed: {frame.error}"
            if "text-to-speech" in dead or not self._answered.is_set() or not talk.has_voice:
                talk.end("engine", reason)
            else:
                talk.give_up(reason)
        elif self._clocks is not None and frame.processor is pipeline.stages.model:
            await self._clocks.answer_failed()

    async def _close(self) -> None:
        """Hang up, stop the pipeline, and end every task."""
        try:
            await self._hang_up()
            if self._pipeline is not None:
                await self._pipeline.stop()
            if self._fallback is not None:
                await self._fallback.close()
        finally:
            for part in (self._talk, self._machines, self._unheard):
                if part is not None:
                    part.close()
            for task in tuple(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _hang_up(self) -> None:
        if self._line is None or self._ended.done():
            return
        try:
            async with asyncio.timeout(HANG_UP_S):
                if self._arrival is not None and not self._answered.is_set():
                    await self._arrival.reject(480)
                await self._line.hangup()
                # Its last events say how it went.
                await self._ended
        except (LegError, TimeoutError) as error:
            _log.warning("call %d: its line was not hung up: %r", self._call.id, error)

    async def _report(self, end: End) -> None:
        """Report the end, and what follows it."""
        call, recording = self._call, self._recording
        if not call.is_over:
            if end.failed or not self._answered.is_set():
                await call.failed(end.reason)
            else:
                await call.ended(end.by, end.reason)
        if self._answered_at is not None:
            await call.report(self._usage.event(time.monotonic() - self._answered_at))
        if recording is not None:
            if self._answered.is_set() and call.outcome != "lost":
                await recording.upload(call)
            else:
                recording.discard()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = background(work, f"call {self._call.id}: {getattr(work, '__qualname__', work)}")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _same(one: str, other: str) -> bool:
    return one.partition("-")[0].lower() == other.partition("-")[0].lower()
