"""What was heard of the assistant, by the frames that the line lets through."""

import pytest
from pipecat.frames.frames import (
    AggregatedTextFrame,
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    InterruptionFrame,
    LLMFullResponseEndFrame,
    TTSAudioRawFrame,
    TTSStartedFrame,
    TTSStoppedFrame,
    TTSTextFrame,
)
from pipecat.utils.text.base_text_aggregator import TextType

from providers.rig import Rig, until
from switchboard_engine.client.events import Event, Transcript
from switchboard_engine.conversation.speech import Speech
from switchboard_engine.conversation.transcript import TranscriptLines


def word(text: str, *, interruptible: bool = True) -> TTSTextFrame:
    """Return a word, whose time the synthesizer told."""
    frame = TTSTextFrame(text, TextType.WORD)
    frame.pts = 1
    frame.interruptible = interruptible
    return frame


def announced(text: str, *, paced: bool) -> AggregatedTextFrame:
    """Return a sentence that is about to be said whatever happens."""
    frame = AggregatedTextFrame(text, TextType.SENTENCE)
    frame.will_be_spoken, frame.interruptible = True, False
    frame.pts = None if paced else 1
    return frame


def sound() -> TTSAudioRawFrame:
    """Return 20 ms of silence."""
    return TTSAudioRawFrame(bytes(640), 16_000, 1)


async def test_words_behind_an_interruption_were_not_heard() -> None:
    told: list[Transcript] = []
    clock = 100.0

    async def report(event: Event) -> None:
        assert isinstance(event, Transcript)
        told.append(event)

    speech = Speech(TranscriptLines(report, language="en", now=lambda: clock))
    async with Rig(speech) as rig:
        await rig.give(TTSStartedFrame(), BotStartedSpeakingFrame(), sound(), word("One"), word("two"))
        await rig.comes(TTSTextFrame, 2)
        await rig.give(InterruptionFrame())
        await until(lambda: len(told) == 1)
        # The line was about to let these through.
        await rig.give(word("three"), sound(), word("Wait.", interruptible=False), BotStoppedSpeakingFrame())
        await rig.comes(BotStoppedSpeakingFrame)
        await rig.give(BotStartedSpeakingFrame())
        await rig.comes(BotStartedSpeakingFrame, 2)
        assert speech.quiet.is_set()
        clock = 200.0
        await rig.give(TTSStartedFrame(), BotStartedSpeakingFrame(), sound(), word("Bye."), LLMFullResponseEndFrame())
        await until(lambda: len(told) == 2)
        assert [frame.text for frame in rig.of(TTSTextFrame)] == ["One", "two", "Wait.", "Bye."]
    cut, last = told
    assert (cut.text, cut.interrupted) == ("One two", True)
    assert (last.text, last.interrupted) == ("Wait. Bye.", None)
    assert last.started_at is not None
    assert last.started_at.timestamp() > 150
    assert speech.was_cut


@pytest.mark.parametrize("paced", [True, False])
async def test_what_is_said_whatever_happens_stays_one_line(paced: bool) -> None:
    told: list[Transcript] = []

    async def report(event: Event) -> None:
        assert isinstance(event, Transcript)
        told.append(event)

    speech = Speech(TranscriptLines(report, language="en"))
    words = [] if paced else [word("Please", interruptible=False), word("wait.", interruptible=False)]
    async with Rig(speech) as rig:
        await rig.give(TTSStartedFrame(), announced("Please wait.", paced=paced), BotStartedSpeakingFrame(), *words[:1])
        await rig.comes(BotStartedSpeakingFrame)
        await rig.give(InterruptionFrame())
        await until(speech.cut.is_set)
        await rig.give(*words[1:], TTSStoppedFrame(), BotStoppedSpeakingFrame(), LLMFullResponseEndFrame())
        await until(lambda: len(told) == 1)
    assert [(line.text, line.interrupted) for line in told] == [("Please wait.", None)]
    assert not speech.was_cut
