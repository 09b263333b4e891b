"""What is said in a conversation, and what of it the service is told: with typed customers and a voice of tones."""

import asyncio
from typing import Any

import pytest
from pipecat.frames.frames import Frame, InputAudioRawFrame, LLMContextFrame
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.transcriptions.language import Language

from legs.sound import tone

from .conftest import Scene, say
from .fakes import ToneTTS, WordTTS
from .script import Say, call

LOOK_UP = {"name": "look_up", "kind": "tool", "timeout": 2, "parameters": {"type": "object", "properties": {}}}
LONG = "One two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen."
LONGER = f"{LONG[:-1]}, {LONG[:-1]}, {LONG}"


@pytest.mark.parametrize("voice", [ToneTTS, WordTTS])
async def test_an_interrupted_line_has_what_was_heard(typed: Scene, voice: type[ToneTTS]) -> None:
    typed.typed.voice = voice
    typed.model.rules = {"count": Say(LONGER)}
    line = await typed.answered()
    await typed.greeted()
    await typed.tell("please count")
    await typed.until(lambda: len(typed.typed.tone.said) >= 2)
    await typed.hears(0.8)
    await typed.typed.customer.begin()
    await typed.until(lambda: len(typed.said("bot")) == 2)
    last = line.audio.last_sound()
    cut = next(event for event in typed.fake.of("transcript") if event["text"].startswith("One"))
    assert cut.get("interrupted"), cut
    words = LONGER.split()
    heard = cut["text"].split()
    assert heard == words[: len(heard)]
    assert 2 <= len(heard) < len(words)
    # With the line the sound is over.
    await asyncio.sleep(0.3)
    assert line.audio.last_sound() == last
    # The model is told the same.
    await typed.typed.customer.finish("stop")
    await typed.greeted(3)
    assert {"role": "assistant", "content": cut["text"]} in typed.model.requests[-1]["messages"]


async def test_the_sound_of_the_customer_ends_where_nothing_needs_it(typed: Scene) -> None:
    line = await typed.answered()
    await typed.greeted()
    took: dict[str, set[type[Frame]]] = {"stt": set(), "llm": set()}

    async def note(processor: FrameProcessor, frame: Frame) -> None:
        took["stt" if processor is typed.typed.made["stt"] else "llm"].add(type(frame))

    for stage in took:
        typed.typed.made[stage].add_event_handler("on_before_process_frame", note)
    await say(line, tone(300, 0.3, 16_000))
    await typed.tell("hello")
    await typed.greeted(2)
    assert InputAudioRawFrame in took["stt"]
    assert LLMContextFrame in took["llm"]
    assert InputAudioRawFrame not in took["llm"]


@pytest.mark.long
async def test_what_is_no_interruption_leaves_the_line_whole(typed: Scene) -> None:
    typed.model.rules = {"count": Say(LONG)}
    await typed.answered(turns={"stop_ms": 300, "min_words": 2})
    await typed.greeted()
    await typed.tell("please count")
    await typed.until(lambda: len(typed.typed.tone.said) == 2)
    await asyncio.sleep(0.6)
    await typed.tell("mhm")
    await typed.greeted(2)
    assert typed.said("bot")[1] == LONG
    assert typed.said("human") == ["please count"]


@pytest.mark.long
async def test_enough_words_interrupt(typed: Scene) -> None:
    typed.model.rules = {"count": Say(LONG)}
    await typed.answered(turns={"stop_ms": 300, "min_words": 2})
    await typed.greeted()
    await typed.tell("please count")
    await typed.until(lambda: len(typed.typed.tone.said) == 2)
    await asyncio.sleep(0.6)
    await typed.typed.customer.begin()
    await typed.typed.customer.partly("no")
    await typed.typed.customer.partly("no stop")
    await typed.greeted(2)
    assert typed.said("bot")[1] != LONG
    await typed.typed.customer.finish("no stop it")
    await typed.until(lambda: len(typed.said("human")) == 2)
    partials = [event["text"] for event in typed.fake.of("partial")]
    assert partials[0] == "no"


@pytest.mark.long
async def test_an_assistant_that_is_not_interrupted_answers_afterwards(typed: Scene) -> None:
    typed.model.rules = {"count": Say(LONG), "why": Say("Because.")}
    await typed.answered(allow_interruptions=False)
    await typed.greeted()
    await typed.tell("please count")
    await typed.until(lambda: len(typed.typed.tone.said) == 2)
    await asyncio.sleep(0.5)
    await typed.tell("why")
    await typed.greeted(3)
    assert typed.said("bot")[1:] == [LONG, "Because."]


async def test_a_tool_is_waited_for_with_a_sentence(typed: Scene) -> None:
    typed.service.tool_seconds = 1.6
    typed.service.tool_answer = (200, {"status": 200, "body": "shipped", "duration_ms": 3})
    typed.model.rules = {"order": call("look_up"), "shipped": Say("It was shipped.")}
    await typed.answered(functions=[LOOK_UP])
    await typed.greeted()
    await typed.tell("where is my order")
    await typed.until(lambda: any("It was shipped." in text for text in typed.said("bot")))
    assert " ".join(typed.said("bot")) == "Hello, this is Anna. One moment, please. It was shipped."
    # The sentence is the engine's: the model does not read it as its own.
    assert "One moment" not in str(typed.model.requests[-1]["messages"])
    assert typed.fake.tools == [("look_up", {})]


@pytest.mark.long
async def test_a_tool_survives_an_interruption(typed: Scene) -> None:
    typed.service.tool_seconds = 1.0
    typed.service.tool_answer = (200, {"status": 200, "body": "shipped", "duration_ms": 3})
    typed.model.rules = {"order": call("look_up"), "hurry": Say("A moment."), "shipped": Say("It was shipped.")}
    await typed.answered(functions=[LOOK_UP])
    await typed.greeted()
    await typed.tell("where is my order")
    await typed.until(lambda: len(typed.model.requests) == 1)
    await asyncio.sleep(0.2)
    await typed.tell("hurry up")
    await typed.until(lambda: "It was shipped." in typed.said("bot"))


@pytest.mark.long
async def test_a_tool_that_fails_is_told_to_the_model(typed: Scene) -> None:
    typed.service.tool_answer = (422, {"message": "The field order is required."})
    typed.model.rules = {"required": Say("Which order?"), "my order": call("look_up")}
    await typed.answered(functions=[LOOK_UP])
    await typed.greeted()
    await typed.tell("where is my order")
    await typed.until(lambda: "Which order?" in typed.said("bot"))


@pytest.mark.long
async def test_the_knowledge_is_searched(typed: Scene) -> None:
    search = {"name": "search_knowledgebase", "kind": "search", "parameters": {"type": "object", "properties": {}}}
    typed.model.rules = {"open at nine": Say("At nine."), "hours": call("search_knowledgebase", query="hours")}
    await typed.answered(functions=[search])
    await typed.greeted()
    await typed.tell("your hours please")
    await typed.until(lambda: "At nine." in typed.said("bot"))


@pytest.mark.long
async def test_a_filler_comes_when_the_model_thinks(typed: Scene) -> None:
    typed.model.rules = {"slow": Say("There it is.", pause_s=1.0), "quick": Say("Yes.")}
    words = {"neutral": ["Hm."], "question": ["Good question."], "negative": [], "positive": []}
    await typed.answered(fillers=1, filler_config=words)
    await typed.greeted()
    await typed.tell("what is slow?")
    await typed.until(lambda: len(typed.said("bot")) == 2)
    assert typed.typed.tone.said[1:] == ["Good question.", "There it is."]
    assert typed.said("bot")[1] == "Good question. There it is."
    await typed.tell("quick")
    await typed.greeted(3)
    assert typed.typed.tone.said[3:] == ["Yes."]
    assert "Good question" not in str(typed.model.requests[-1]["messages"])


@pytest.mark.long
async def test_the_customer_speaks_first(typed: Scene) -> None:
    typed.model.otherwise = Say("Hello, this is Anna.")
    await typed.answered(wait_for_customer=True)
    await asyncio.sleep(0.5)
    assert typed.typed.tone.said == []
    await typed.tell("hello")
    await typed.greeted()
    system = typed.model.requests[0]["messages"][0]
    assert system["role"] == "system"
    assert "Begin your first answer with this greeting: Hello, this is Anna." in system["content"]


@pytest.mark.long
async def test_the_language_of_the_customer_is_spoken(typed: Scene) -> None:
    await typed.answered(secondary_languages=[{"id": 2, "name": "German", "code": "de-DE"}])
    await typed.greeted()
    assert typed.typed.asked["languages"] == ["en-US", "de-DE"]
    await typed.typed.customer.say("guten tag", Language.DE)
    await typed.greeted(2)
    assert [str(language) for language in typed.typed.tone.languages] == ["de-DE"]
    lines = typed.fake.of("transcript")
    assert [event["language"] for event in lines] == ["en-US", "de", "de-DE"]
    # French is none of its languages.
    await typed.typed.customer.say("bonjour", Language.FR)
    await typed.greeted(3)
    assert len(typed.typed.tone.languages) == 1


async def test_a_customer_who_hangs_up_ends_the_call(typed: Scene) -> None:
    typed.model.rules = {"count": Say(LONGER)}
    line = await typed.answered()
    await typed.greeted()
    await typed.tell("please count")
    await typed.until(lambda: len(typed.typed.tone.said) == 2)
    await typed.hears(0.8)
    line.end()
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("customer", "the customer hung up")
    last = typed.fake.of("transcript")[-1]
    assert last["interrupted"]
    assert LONGER.startswith(last["text"])
    await typed.until(lambda: len(typed.fake.of("usage")) == 1)
    usage: dict[str, Any] = typed.fake.of("usage")[0]
    assert usage["llm_tokens_in"] == 100
    assert usage["tts_characters"] == len("Hello, this is Anna.") + len(LONGER)
    assert usage["carrier_seconds"] > 0.5
    assert typed.fake.of("quality")[0]["mos"] == 4.2


@pytest.mark.long
async def test_metrics_are_told_of_each_turn(typed: Scene) -> None:
    await typed.answered()
    await typed.greeted()
    await typed.tell("hello")
    await typed.greeted(2)
    metrics = typed.fake.of("metrics")
    assert len(metrics) == 1
    assert metrics[0]["turn"] == 2
    assert metrics[0]["total_ms"] >= metrics[0]["endpoint_ms"] + metrics[0]["llm_ms"] + metrics[0]["tts_ms"] > 0


async def test_a_hello_does_not_cut_the_greeting(typed: Scene) -> None:
    await typed.answered(greeting="Hello, this is Anna of the shop on the corner.")
    await typed.until(lambda: len(typed.typed.tone.said) == 1)
    await asyncio.sleep(0.2)
    await typed.tell("hello")
    await typed.greeted()
    assert typed.said("bot") == ["Hello, this is Anna of the shop on the corner."]
    assert typed.said("human") == []


async def noise(scene: Scene, seconds: float) -> None:
    """Have speech seen in which nothing is understood."""
    await scene.typed.customer.begin()
    await asyncio.sleep(seconds)
    await scene.typed.customer.finish("")


@pytest.mark.parametrize("seconds", [0.2, 1.2])
async def test_a_noise_that_cuts_the_assistant_off_is_answered_once(
    typed: Scene, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard_engine.conversation.turns.UNHEARD_S", 1.5)
    typed.model.rules = {"count": Say(LONGER), "cut you off": Say("And seventeen.")}
    await typed.answered()
    await typed.greeted()
    await typed.tell("please count")
    await typed.until(lambda: len(typed.typed.tone.said) >= 2)
    await asyncio.sleep(0.5)
    await noise(typed, seconds)
    await typed.until(lambda: "And seventeen." in typed.said("bot"))
    await asyncio.sleep(0.5)
    assert typed.typed.tone.said[2:] == ["And seventeen."]
    assert len(typed.model.requests) == 2


async def test_an_answer_that_a_noise_withdrew_is_given(typed: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard_engine.conversation.turns.UNHEARD_S", 1.5)
    typed.model.rules = {"open": Say("At nine.", pause_s=1.0), "cut you off": Say("We open at nine.")}
    await typed.answered()
    await typed.greeted()
    await typed.tell("when do you open")
    await typed.until(lambda: len(typed.model.requests) == 1)
    await noise(typed, 0.2)
    await typed.until(lambda: typed.said("bot")[1:] == ["We open at nine."])


@pytest.mark.long
async def test_what_was_not_understood_is_asked_for_twice_at_most(
    typed: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard_engine.conversation.turns.UNHEARD_S", 1.0)
    unheard = "Sorry, I did not understand you. Could you say that again?"
    await typed.answered()
    await typed.greeted()
    # A cough is nothing.
    await noise(typed, 0.2)
    await asyncio.sleep(1.5)
    assert typed.typed.tone.said[1:] == []
    for count in (1, 2):
        await noise(typed, 1.0)
        await typed.greeted(1 + count)
    await noise(typed, 1.0)
    await asyncio.sleep(2.0)
    assert typed.typed.tone.said[1:] == [unheard, unheard]
    assert typed.model.requests == []
    await typed.tell("hello")
    await typed.greeted(4)
    await noise(typed, 1.0)
    await typed.greeted(5)
    assert typed.said("bot")[1:] == [unheard, unheard, "I see.", unheard]
