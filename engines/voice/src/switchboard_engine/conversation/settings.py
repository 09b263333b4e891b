"""What a conversation needs of the claimed assistant, typed, with the API's defaults where the claim has none.

The stored form of an assistant carries some numbers as text and some flags as 1 and 0; both are read here and nowhere
else. What is out of its range is brought back into it.
"""

from dataclasses import dataclass, field
from math import isfinite
from typing import Literal

from ..client import Assistant
from ..client.wire import CatalogueEntry, Json, entries, flag, mapping, number, text

Mode = Literal["pipeline", "multimodal", "dualplex"]
MODES: tuple[Mode, ...] = ("pipeline", "multimodal", "dualplex")

STOP_MS_MAX = 5_000
STOP_MS_MIN = 100
WORDS_MAX = 10
_STOP_MS_CALM = 800
"""Silence that ends a turn at `endpoint_sensitivity` 0; else it is divided by the sensitivity plus one."""
_START_MS_CALM = 300
"""Speech that begins a turn at `interrupt_sensitivity` 0."""
_START_MS_MIN = 100


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """How turns change: `stop_ms` of silence end the customer's, `start_ms` of speech begin it.

    `min_words` are those that interrupt the assistant, 0: speech alone does. `by_model` lets a turn model judge whether
    the customer is done. `threshold` is that of a speech-to-speech model's own detection.
    """

    stop_ms: int = 533
    start_ms: int = 200
    min_words: int = 0
    by_model: bool = False
    threshold: float | None = None
    interruptible: bool = True

    @classmethod
    def read(cls, assistant: Assistant) -> "TurnSettings":
        """Read what the service compiled, and for what it did not, the assistant's sensitivities."""
        raw, turns = assistant.raw, assistant.turns
        stop_ms = turns.stop_ms or round(_STOP_MS_CALM / (1 + bounded(raw, "endpoint_sensitivity", 0, 5, 0.5)))
        start_ms = round(_START_MS_CALM / (1 + bounded(raw, "interrupt_sensitivity", 0, 5, 0.5)))
        words = turns.min_words if turns.min_words is not None else int(bounded(raw, "min_interrupt_words", 0, 10, 0))
        strategy = turns.strategy or ("model" if text(raw, "endpoint_type") == "ai" else "silence")
        threshold = turns.threshold if turns.threshold is not None else decimal(raw, "turn_detection_threshold")
        return cls(
            stop_ms=min(max(stop_ms, STOP_MS_MIN), STOP_MS_MAX),
            start_ms=max(start_ms, _START_MS_MIN),
            min_words=min(max(words, 0), WORDS_MAX),
            by_model=strategy not in ("silence", "vad"),
            threshold=None if threshold is None else min(max(threshold, 0.0), 1.0),
            interruptible=assistant.allow_interruptions or assistant.mode != "pipeline",
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits, seconds; `initial_silence_s` None for none."""

    ringing_s: float = 30
    duration_s: float = 600
    silence_s: float = 40
    initial_silence_s: float | None = None
    interval_s: float = 30

    @classmethod
    def read(cls, assistant: Assistant) -> "Limits":
        """Read the timings of an assistant."""
        timings = assistant.timings
        return cls(
            ringing_s=timings.ringing_time,
            duration_s=timings.max_duration,
            silence_s=timings.max_silence_duration or 40,
            initial_silence_s=timings.max_initial_silence_duration,
            interval_s=timings.reengagement_interval or 30,
        )


@dataclass(frozen=True, slots=True)
class Ambience:
    """The background sound: its name, and its volume from 0 (silent) to 1."""

    sound: str
    volume: float


@dataclass(frozen=True, slots=True)
class FillerWords:
    """Words for pauses, by the tone of what the customer said."""

    neutral: tuple[str, ...] = ()
    negative: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    question: tuple[str, ...] = ()

    @classmethod
    def read(cls, raw: Json) -> "FillerWords":
        """Read `filler_config`."""
        config = mapping(raw, "filler_config")
        return cls(**{tone: _texts(config, tone) for tone in ("neutral", "negative", "positive", "question")})


@dataclass(frozen=True, slots=True)
class ConversationSettings:
    """An assistant, as its conversation needs it."""

    mode: Mode
    prompt: str = field(repr=False)
    greeting: str | None = field(repr=False)
    reengagement: str | None = field(repr=False)
    voicemail: str | None = field(repr=False)
    languages: tuple[str, ...]
    turns: TurnSettings
    limits: Limits
    speed: float
    """Of the voice; what else is said of it is the vendor's to read."""
    temperature: float
    fillers: bool
    filler_words: FillerWords
    ambience: Ambience | None
    cancels_noise: bool
    ends_on_voicemail: bool
    waits_for_customer: bool
    records: bool

    @property
    def language(self) -> str:
        """The language that the assistant speaks first."""
        return self.languages[0]

    @property
    def greets(self) -> bool:
        """Whether the assistant speaks first: a speech-to-speech model always does, as it is told all with that."""
        return self.mode != "pipeline" or (bool(self.greeting) and not self.waits_for_customer)

    @classmethod
    def read(cls, assistant: Assistant) -> "ConversationSettings":
        """Read the claimed assistant."""
        raw = assistant.raw
        languages = _languages(assistant)
        return cls(
            mode=next((mode for mode in MODES if mode == assistant.mode), "pipeline"),
            prompt=_prompt(assistant, languages),
            greeting=assistant.greeting,
            reengagement=assistant.reengagement,
            voicemail=assistant.voicemail,
            languages=languages,
            turns=TurnSettings.read(assistant),
            limits=Limits.read(assistant),
            speed=bounded(raw, "speech_speed", 0.7, 1.2, 1.0),
            temperature=bounded(raw, "llm_temperature", 0, 1, 0.1),
            fillers=flag(raw, "fillers", absent=False),
            filler_words=FillerWords.read(raw),
            ambience=_ambience(raw),
            cancels_noise=flag(raw, "enable_noise_cancellation", absent=True),
            ends_on_voicemail=flag(raw, "end_call_on_voicemail", absent=True),
            waits_for_customer=assistant.wait_for_customer,
            records=assistant.record,
        )


def built_in_tools(assistant: Assistant, kind: str) -> list[Json]:
    """Return the settings of the built-in tools of a type, in their order."""
    return [tool for tool in entries(assistant.raw, "tools") if text(tool, "type") == kind]


def decimal(entry: Json, name: str) -> float | None:
    """Return a number, also one that is carried as text; None for anything else."""
    value = number(entry, name)
    if value is None:
        try:
            value = float(text(entry, name) or "")
        except ValueError:
            return None
    return value if isfinite(value) else None


def bounded(entry: Json, name: str, least: float, most: float, absent: float) -> float:
    """Return a number within its range; `absent` where there is none."""
    value = decimal(entry, name)
    return absent if value is None else min(max(value, least), most)


def code_of(language: CatalogueEntry | None) -> str | None:
    """Return a language's code, such as `en-US`."""
    if language is None:
        return None
    return language.code or text(language.raw, "iso_2")


def _languages(assistant: Assistant) -> tuple[str, ...]:
    known = (assistant.spoken_language, *assistant.secondary_languages)
    codes = dict.fromkeys(code for language in known if (code := code_of(language)))
    return tuple(codes) or ("en",)


def _prompt(assistant: Assistant, languages: tuple[str, ...]) -> str:
    """Return the system prompt: the assistant's own, its knowledge, and what a telephone asks of any text."""
    parts = [assistant.prompt or "", _SPOKEN]
    if len(languages) > 1:
        parts.append(_SWITCHING.format(first=languages[0], others=", ".join(languages[1:])))
    else:
        parts.append(f"Speak this language: {languages[0]}.")
    if assistant.wait_for_customer and assistant.greeting and assistant.mode not in ("multimodal", "dualplex"):
        parts.append(f"The customer speaks first. Begin your first answer with this greeting: {assistant.greeting}")
    if assistant.knowledge:
        parts.append(f"What you know:\n{assistant.knowledge}")
    return "\n\n".join(part for part in parts if part)


_SPOKEN = (
    "This is a telephone call: what you write is spoken, and what you read was heard and may be misheard. Answer in "
    "one to three short sentences, without lists, markup, emojis or links. Write numbers as they are said."
)
_SWITCHING = (
    "Speak {first}. If the customer speaks one of these languages, go on in theirs: {others}. "
    "Otherwise stay with yours."
)


def _ambience(raw: Json) -> Ambience | None:
    sound = text(raw, "ambient_sound")
    volume = bounded(raw, "ambient_sound_volume", 0, 1, 0.5)
    return None if sound in (None, "off") or not volume else Ambience(sound or "", volume)


def _texts(entry: Json, name: str) -> tuple[str, ...]:
    value = entry.get(name)
    return tuple(item for item in value if isinstance(item, str) and item.strip()) if isinstance(value, list) else ()
