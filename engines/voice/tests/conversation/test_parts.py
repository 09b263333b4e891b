"""The parts of a conversation that need no sound, each for itself."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pipecat.audio.vad.vad_analyzer import VADState
from pipecat.frames.frames import (
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
)

from legs.sound import power, silence, tone
from switchboard_engine.client import Assistant
from switchboard_engine.client.events import Event, Partial, Transcript
from switchboard_engine.conversation.ambience import SOUNDS, BackgroundMixer, sound
from switchboard_engine.conversation.answering import LINES_MAX, Answering, BeepDetector, kind_of
from switchboard_engine.conversation.keypad import Keypad
from switchboard_engine.conversation.phrases import phrases_of
from switchboard_engine.conversation.recording import SAMPLE_HZ, TwoTracks
from switchboard_engine.conversation.settings import Ambience, ConversationSettings, TurnSettings
from switchboard_engine.conversation.speaker import tone as tone_of
from switchboard_engine.conversation.transcript import TEXT_CHARS_MAX, TranscriptLines
from switchboard_engine.conversation.transfers import is_open
from switchboard_engine.conversation.turns import TurnStart, vad, words
from switchboard_engine.conversation.unsupported import unsupported
from switchboard_engine.conversation.words import WordPace
from switchboard_engine.local.pronunciation import pronunciations

from .conftest import assistant


def settings_of(**members: Any) -> ConversationSettings:
    """Return the settings of an assistant."""
    return ConversationSettings.read(Assistant.read(assistant(**members)))


def test_the_defaults_are_those_of_the_specification() -> None:
    settings = ConversationSettings.read(Assistant.read({}))
    assert (settings.mode, settings.language, settings.temperature) == ("pipeline", "en", 0.1)
    assert settings.speed == 1.0
    assert (settings.limits.duration_s, settings.limits.silence_s, settings.limits.interval_s) == (600, 40, 30)
    assert settings.limits.initial_silence_s is None
    assert settings.turns.interruptible
    assert (settings.fillers, settings.records, settings.waits_for_customer) == (False, False, False)
    assert settings.ends_on_voicemail
    assert settings.cancels_noise
    assert settings.ambience is None


def test_the_stored_form_is_read() -> None:
    settings = settings_of(
        llm_temperature="0.35",
        speech_speed="1.10",
        fillers=1,
        end_call_on_voicemail=0,
        ambient_sound="cafe",
        ambient_sound_volume="0.25",
        filler_config={"neutral": ["Hm.", "", 3], "negative": None},
    )
    assert settings.temperature == 0.35
    assert settings.speed == 1.1
    assert settings.fillers
    assert not settings.ends_on_voicemail
    assert settings.ambience == Ambience("cafe", 0.25)
    assert settings.filler_words.neutral == ("Hm.",)
    assert settings.filler_words.negative == ()


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["llm_temperature", "speech_speed", "endpoint_sensitivity", "interrupt_sensitivity", "mode",
                         "min_interrupt_words", "ambient_sound", "ambient_sound_volume", "fillers", "turns", "timings",
                         "tools", "filler_config", "turn_detection_threshold", "spoken_language"]),
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()),
    )
)  # fmt: skip
def test_any_assistant_can_be_read(members: dict[str, Any]) -> None:
    settings = ConversationSettings.read(Assistant.read(members))
    assert 0 <= settings.temperature <= 1
    assert 0.7 <= settings.speed <= 1.2
    assert 100 <= settings.turns.stop_ms <= 5_000
    assert 100 <= settings.turns.start_ms <= 300
    assert 0 <= settings.turns.min_words <= 10


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"turns": {}}, TurnSettings(stop_ms=533, start_ms=200)),
        ({"turns": {}, "endpoint_sensitivity": 0}, TurnSettings(stop_ms=800, start_ms=200)),
        ({"turns": {}, "endpoint_sensitivity": 5}, TurnSettings(stop_ms=133, start_ms=200)),
        ({"turns": {}, "interrupt_sensitivity": 5}, TurnSettings(start_ms=100)),
        ({"turns": {}, "min_interrupt_words": 3}, TurnSettings(min_words=3)),
        ({"turns": {}, "endpoint_type": "ai"}, TurnSettings(by_model=True)),
        ({"turns": {}, "allow_interruptions": False}, TurnSettings(interruptible=False)),
        ({"turns": {}, "allow_interruptions": False, "mode": "dualplex"}, TurnSettings()),
        ({"turns": {}, "turn_detection_threshold": 0.3}, TurnSettings(threshold=0.3)),
        (
            {"turns": {"strategy": "model", "stop_ms": 300, "min_words": 0, "threshold": 2}, "min_interrupt_words": 3},
            TurnSettings(stop_ms=300, by_model=True, threshold=1.0),
        ),
    ],
)
def test_turns_are_compiled_where_the_service_has_not(members: dict[str, Any], expected: TurnSettings) -> None:
    assert settings_of(**members).turns == expected


def test_the_prompt_has_all_that_the_model_must_know() -> None:
    german = {"id": 2, "code": "de-DE"}
    prompt = settings_of(secondary_languages=[german], knowledge="We sell shoes.").prompt
    assert prompt.startswith("You answer the telephone of a shop.\n\nThis is a telephone call")
    assert "go on in theirs: de-DE" in prompt
    assert prompt.endswith("What you know:\nWe sell shoes.")


@pytest.mark.parametrize(
    ("said", "count"),
    [
        ("", 0),
        ("stop", 1),
        ("no wait  please", 3),
        ("今日は天気がいい", 4),
        ("สวัสดี", 3),
        ("你好 world and more of it", 6),
    ],
)
def test_words_are_counted_in_any_script(said: str, count: int) -> None:
    assert words(said) == count


def test_words_are_heard_in_the_time_of_their_sound() -> None:
    pace = WordPace(10.0)
    pace.announce("one two three")
    assert pace.played(0.3) == []
    assert pace.played(0.2) == ["one"]
    pace.announce("four")
    assert pace.played(0.4) == ["two"]
    assert pace.finished() == ["three", "four"]
    # Nineteen characters took 0.9 s: the next ones are expected sooner.
    pace.announce("five six")
    assert pace.played(0.4) == ["five"]
    assert pace.interrupted()
    assert not pace.interrupted()
    assert pace.finished() == []
    pace.announce("five six")
    pace.announce("seven eight", interruptible=False)
    assert pace.interrupted()
    assert pace.finished() == ["seven", "eight"]


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(st.lists(st.text(min_size=1), max_size=8), st.lists(st.floats(0, 5), max_size=20))
def test_every_word_is_heard_once_and_in_order(texts: list[str], times: list[float]) -> None:
    pace = WordPace()
    for text in texts:
        pace.announce(text)
    heard = [word for seconds in times for word in pace.played(seconds)]
    assert [*heard, *pace.finished()] == [word for text in texts for word in text.split()]


async def test_lines_are_numbered_by_their_turns() -> None:
    told: list[Event] = []

    async def report(event: Event) -> None:
        told.append(event)

    lines = TranscriptLines(report, language="en", now=lambda: 100.0)
    lines.heard("Hello.")
    lines.sound(0.5)
    await lines.bot_done()
    lines.customer_began(90.0)
    lines.customer_paused(91.0)
    await lines.partly("I")
    await lines.customer(" I want ")
    await lines.customer("shoes " * 10_000)
    lines.heard("Which")
    await lines.bot_done(interrupted=True)
    await lines.bot_done()
    await lines.customer("  ")
    first, partial, second, third, fourth = told
    assert isinstance(partial, Partial)
    assert partial.turn == 2
    for line in (first, second, third, fourth):
        assert isinstance(line, Transcript)
    assert [getattr(event, "turn", None) for event in told] == [1, 2, 2, 3, 3]
    assert isinstance(second, Transcript)
    assert second.started_at is not None
    assert second.ended_at is not None
    assert second.ended_at - second.started_at == timedelta(seconds=1)
    assert isinstance(third, Transcript)
    assert len(third.text) == TEXT_CHARS_MAX
    assert isinstance(fourth, Transcript)
    assert fourth.interrupted


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("hello this is john", None),
        ("hi you've reached the voicemail of john", "voicemail"),
        ("please leave a message after the tone", "voicemail"),
        ("i can't take your call right now", "voicemail"),
        ("bitte hinterlassen sie eine nachricht nach dem signalton", "voicemail"),
        ("laissez un message après le bip", "voicemail"),
        ("deje su mensaje después del tono", "voicemail"),
        ("hi if you record your name and reason for calling i'll see if this person is available", "screening"),
        ("who's calling please", "screening"),
        ("for sales press one", "menu"),
        ("thank you for calling please listen to the following options", "menu"),
    ],
)
def test_greetings_of_machines_are_known(said: str, kind: str | None) -> None:
    assert kind_of(said) == kind


async def test_a_verdict_is_told_once() -> None:
    asked: list[str] = []

    async def judge(said: str) -> None:
        asked.append(said)

    answering = Answering(judge)
    assert await answering.said("hello") == "person"
    assert await answering.said("yes speaking") is None
    assert answering.partly("you have reached the mailbox") == "voicemail"
    assert answering.is_over
    assert await answering.said("you have reached the mailbox") is None
    assert asked == []
    answering = Answering(judge)
    for _ in range(LINES_MAX):
        await answering.said("word " * 20)
    assert answering.is_over
    assert len(asked) == LINES_MAX


def test_a_beep_is_told_from_speech_and_from_keys() -> None:
    random = np.random.default_rng(1)
    for hz in (440, 800, 1_000, 1_400):
        assert BeepDetector(16_000).heard(tone(hz, 0.3, 16_000).tobytes())
    assert not BeepDetector(16_000).heard(tone(1_000, 0.1, 16_000).tobytes())
    assert not BeepDetector(16_000).heard(tone(3_000, 0.5, 16_000).tobytes())
    both = (tone(697, 0.5, 16_000) // 2 + tone(1_209, 0.5, 16_000) // 2).astype(np.int16)
    assert not BeepDetector(16_000).heard(both.tobytes())
    noise = random.normal(0, 3_000, 16_000).astype(np.int16)
    assert not BeepDetector(16_000).heard(noise.tobytes())
    # In pieces of any length it is the same beep.
    detector = BeepDetector(16_000)
    pcm = tone(1_000, 0.4, 16_000).tobytes()
    assert any(detector.heard(pcm[at : at + 450]) for at in range(0, len(pcm), 450))


async def test_a_row_of_keys_is_told_after_a_pause() -> None:
    import asyncio  # noqa: PLC0415

    rows: list[str] = []

    async def row(keys: str) -> None:
        rows.append(keys)

    keypad = Keypad(pause_s=0.05)
    keypad.on_row = row
    for key in "12":
        keypad.pressed(key)
    await asyncio.sleep(0.15)
    keypad.pressed("3")
    collecting = asyncio.create_task(keypad.collect(stop_key="#", timeout_s=0.5))
    await asyncio.sleep(0)
    for key in "45#6":
        keypad.pressed(key)
    assert await collecting == "345"
    assert await keypad.collect(stop_key="#", timeout_s=0.02) == ""
    assert rows == ["12"]
    for _ in range(200):
        keypad.pressed("9")
    await asyncio.sleep(0.1)
    keypad.close()
    assert all(len(keys) <= 200 for keys in rows)


@pytest.mark.parametrize(
    ("hours", "at", "expected"),
    [
        ({}, "2026-11-27 03:00", True),
        ({"friday": [{"from": "09:00", "to": "17:00"}]}, "2026-11-27 09:00", True),
        ({"friday": [{"from": "09:00", "to": "17:00"}]}, "2026-11-27 17:00", False),
        ({"monday": [{"from": "09:00", "to": "17:00"}]}, "2026-11-27 10:00", False),
        ({"friday": "always"}, "2026-11-27 10:00", False),
    ],
)
def test_a_transfer_has_its_hours(hours: dict[str, Any], at: str, expected: bool) -> None:
    now = datetime.fromisoformat(at).replace(tzinfo=ZoneInfo("Europe/Berlin")).astimezone(ZoneInfo("UTC"))
    assert is_open({"hours": hours, "timezone": "Europe/Berlin"}, now) is expected


@pytest.mark.parametrize(
    ("said", "tone"),
    [
        ("what is that?", "question"),
        ("wo sind sie", "question"),
        ("no that is wrong", "negative"),
        ("great thank you", "positive"),
        ("my number is five", "neutral"),
    ],
)
def test_the_tone_of_a_line_is_guessed(said: str, tone: str) -> None:
    assert tone_of(said) == tone


@pytest.mark.parametrize("language", ["en", "de-DE", "fr-FR", "es", "it-IT", "sw"])
def test_the_engine_has_sentences_in_each_language(language: str) -> None:
    phrases = phrases_of(language)
    texts = [*phrases.waiting, phrases.repeat, phrases.unheard, phrases.failed, phrases.goodbye, phrases.reengage]
    assert all(text.strip() for text in texts)
    assert (phrases is phrases_of("en")) == (language in ("en", "sw"))


@pytest.mark.parametrize("name", [*SOUNDS, "hold_music"])
def test_each_sound_is_there_and_below_speech(name: str) -> None:
    made = sound(name, 8_000)
    assert len(made) >= 8 * 8_000
    assert 300 < float(np.sqrt(np.mean(made**2))) < 2_000
    assert np.max(np.abs(made)) < 20_000


async def test_music_takes_the_place_of_the_office() -> None:
    mixer = BackgroundMixer(None)
    await mixer.start(8_000)
    silence = bytes(3_200)
    assert await mixer.mix(silence) == silence
    mixer.music(1.0)
    assert await mixer.mix(silence) != silence
    mixer.music(None)
    assert await mixer.mix(silence) == silence


def test_a_sound_that_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="There is no sound disco; known are office"):
        sound("disco", 8_000)


def test_both_sides_keep_their_places() -> None:
    tracks = TwoTracks()
    for at in range(50):
        tracks.add(0, tone(1_500, 0.02, 16_000).tobytes(), 16_000, (at + 1) * 0.02)
    tracks.add(1, tone(440, 0.2, 16_000).tobytes(), 16_000, 0.7)
    first = np.frombuffer(tracks.take(0.6), dtype=np.int16).reshape(-1, 2)
    rest = np.frombuffer(tracks.take(1.2), dtype=np.int16).reshape(-1, 2)
    assert (len(first), len(rest)) == (0.6 * SAMPLE_HZ, 0.6 * SAMPLE_HZ)
    assert np.max(np.abs(first[: int(0.49 * SAMPLE_HZ), 1])) == 0
    assert power(first[int(0.5 * SAMPLE_HZ) :, 1], 440, SAMPLE_HZ) > 0.9
    assert power(first[:, 0], 1_500, SAMPLE_HZ) > 0.9
    assert np.max(np.abs(rest[int(0.45 * SAMPLE_HZ) :])) == 0
    assert tracks.take(1.0) == b""


def test_speech_counts_from_its_beginning_on_a_line_that_was_silent() -> None:
    analyzer = vad(TurnSettings(start_ms=200))
    analyzer.set_sample_rate(16_000)
    analyzer.voice_confidence = lambda buffer: float(np.any(np.frombuffer(buffer, dtype=np.int16)))  # type: ignore[method-assign]
    sound = np.concatenate((silence(1.6, 16_000), tone(300, 1.0, 16_000))).tobytes()
    states = [analyzer._run_analyzer(sound[at : at + 640]) for at in range(0, len(sound), 640)]
    # In packets of 20 ms: 200 ms of speech, by windows of 32 ms.
    assert 9 <= states.index(VADState.SPEAKING) - 80 <= 11


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("are", [("are", "AA R"), ("are(2)", "ER")]),
        ("a", [("a", "AH"), ("a(2)", "EY")]),
        ("goodbye", [("goodbye", "G UH D B AY")]),
        ("goodbyy", []),
        ("zzz", []),
    ],
)
def test_words_have_the_pronunciations_of_the_dictionary(word: str, known: list[tuple[str, str]]) -> None:
    assert list(pronunciations(word)) == known


def test_what_cannot_be_done_is_named() -> None:
    entry = assistant(
        turn_detection_threshold=0.5,
        tools=[{"type": "assistant_transfer"}, {"type": "warm_call_transfer", "caller_id_mode": "customer_number"}],
    )
    read = Assistant.read(entry)
    of_vendors = ["tts_emotion_enabled", "turn_detection_threshold"]
    assert unsupported(read, ConversationSettings.read(read), of_vendors) == [
        "tools.assistant_transfer",
        "tools.warm_call_transfer.caller_id_mode",
        "turn_detection_threshold",
        "tts_emotion_enabled",
    ]


@pytest.mark.parametrize(("mode", "named"), [("pipeline", []), ("multimodal", ["allow_interruptions"])])
def test_a_model_that_hears_is_always_interrupted_and_that_is_named(mode: str, named: list[str]) -> None:
    read = Assistant.read(assistant(mode=mode, allow_interruptions=False))
    assert unsupported(read, ConversationSettings.read(read), []) == named


async def test_a_greeting_and_short_words_are_no_turns() -> None:
    now = 100.0
    began: list[int] = []

    async def begin(*_: object) -> None:
        began.append(1)

    start = TurnStart(0, interruptible=True, greets=True, now=lambda: now)
    start.add_event_handler("on_user_turn_started", begin)

    def heard(text: str) -> TranscriptionFrame:
        return TranscriptionFrame(text, "", "")

    await start.process_frame(BotStartedSpeakingFrame())
    for frame in (VADUserStartedSpeakingFrame(), heard("hello there")):
        await start.process_frame(frame)
    assert len(began) == 0
    await start.process_frame(heard("no wait please"))
    assert len(began) == 1
    now += 3
    await start.process_frame(VADUserStartedSpeakingFrame())
    assert len(began) == 2
    # A greeting that is over is no greeting any more.
    start = TurnStart(0, interruptible=True, greets=True, now=lambda: now)
    start.add_event_handler("on_user_turn_started", begin)
    for spoke in (BotStartedSpeakingFrame(), BotStoppedSpeakingFrame(), BotStartedSpeakingFrame()):
        await start.process_frame(spoke)
    await start.process_frame(VADUserStartedSpeakingFrame())
    assert len(began) == 3
    began.pop()
    start = TurnStart(2, interruptible=True)
    start.add_event_handler("on_user_turn_started", begin)
    await start.process_frame(BotStartedSpeakingFrame())
    await start.process_frame(VADUserStartedSpeakingFrame())
    assert len(began) == 2
    # What goes on when the assistant has finished is an answer.
    await start.process_frame(BotStoppedSpeakingFrame())
    assert len(began) == 3
