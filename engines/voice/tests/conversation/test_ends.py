"""How calls end: every one with a plain reason, and with nothing left."""

import asyncio

import pytest
from pipecat.processors.frame_processor import FrameProcessorSetup

from switchboard_engine.legs import Outcome
from switchboard_engine.legs.leg import Party

from .conftest import WAIT_S, Scene
from .fakes import TypedSTT
from .memory_line import MemoryArrival
from .script import Break, Hang, Say


@pytest.mark.parametrize(
    ("by", "outcome", "reason"),
    [
        ("customer", Outcome.BUSY, "busy"),
        ("engine", Outcome.NO_ANSWER, "no-answer"),
        ("customer", Outcome.REJECTED, "the call was rejected"),
        ("engine", Outcome.UNREACHABLE, "the number cannot be reached"),
        ("engine", Outcome.WRONG_CREDENTIALS, "the trunk refuses its credentials"),
    ],
)
async def test_a_call_that_nobody_answers(typed: Scene, by: Party, outcome: Outcome, reason: str) -> None:
    line = await typed.begin()
    line.ring()
    line.end(by, outcome)
    assert (await typed.ended())["reason"] == reason
    assert [event["type"] for event in typed.fake.events] == ["dialing", "ringing", "failed"]


@pytest.mark.long
async def test_a_line_that_breaks_is_told(typed: Scene) -> None:
    line = await typed.answered()
    await typed.greeted()
    line.end("engine", Outcome.MEDIA_TIMEOUT)
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("engine", "no sound came from the line any more")


async def test_a_number_that_cannot_be_dialed(typed: Scene) -> None:
    typed.leg.error = "'x' cannot be dialed"
    await typed.offer()
    end = await typed.ended()
    assert (end["type"], end["reason"]) == ("failed", "'x' cannot be dialed")


async def test_a_call_of_another_leg_is_given_back(typed: Scene) -> None:
    typed.kind = "twilio"
    await typed.offer()
    end = await typed.ended()
    assert (end["type"], end["reason"]) == ("release", "this engine has no leg twilio")


async def test_a_service_that_cannot_be_made_fails_the_call_before_it_is_dialed(typed: Scene) -> None:
    typed.typed.missing = "tts"
    await typed.offer()
    end = await typed.ended()
    assert end["reason"].endswith("The key of the voice is missing: give it in VOICE_KEY.")
    assert typed.leg.lines == []


async def test_an_inbound_call(typed: Scene) -> None:
    arrival = MemoryArrival(typed.leg, "+12025550001", "+12025550100")
    await typed.arrive(arrival)
    await typed.greeted()
    await typed.tell("hello")
    await typed.greeted(2)
    arrival.line.end()
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("customer", "the customer hung up")
    assert [event["type"] for event in typed.fake.events][:2] == ["answered", "transcript"]
    assert typed.fake.of("answered")[0]["answered_by"] == "human"


@pytest.mark.long
async def test_an_inbound_call_without_services_is_refused(typed: Scene) -> None:
    typed.typed.missing = "tts"
    arrival = MemoryArrival(typed.leg, "+12025550001", "+12025550100")
    await typed.arrive(arrival)
    end = await typed.ended()
    assert end["type"] == "failed"
    assert arrival.rejected == 503


@pytest.mark.long
async def test_a_caller_who_gives_up(typed: Scene) -> None:
    arrival = MemoryArrival(typed.leg, "+12025550001", "+12025550100")
    arrival.line.end("customer", Outcome.CANCELLED)
    await typed.arrive(arrival)
    end = await typed.ended()
    assert end["reason"] == "the call was given up before it was answered"


async def test_a_call_that_is_lost_is_hung_up(typed: Scene) -> None:
    line = await typed.answered()
    await typed.greeted()
    typed.service.lost.add(1)
    await typed.typed.customer.say("hello")
    assert typed.conversing is not None
    await asyncio.wait_for(typed.conversing, WAIT_S)
    assert line.ended is not None


@pytest.mark.long
async def test_a_conversation_that_is_cancelled_hangs_up(typed: Scene) -> None:
    line = await typed.answered()
    await typed.greeted()
    assert typed.conversing is not None
    typed.conversing.cancel()
    await asyncio.wait({typed.conversing}, timeout=WAIT_S)
    assert line.ended is not None
    assert typed.conversing.cancelled()


@pytest.mark.long
async def test_a_model_that_hangs_is_asked_again_and_then_given_up(
    typed: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard_engine.conversation.clocks.PATIENCE_S", 0.5)
    monkeypatch.setattr("switchboard_engine.conversation.clocks.ANSWER_S", 3.0)
    typed.model.otherwise = Hang()
    await typed.answered()
    await typed.greeted()
    await typed.tell("hello")
    await typed.until(lambda: typed.typed.tone.said[-1] == "One moment, please.")
    await typed.until(lambda: typed.said("bot")[-1].startswith("Sorry, I did not get through."))
    await typed.tell("hello again")
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("engine", "no answer came from the language model")
    assert typed.said("bot")[-1].startswith("I am sorry, something does not work here.")
    assert typed.model.cancelled == 2


@pytest.mark.parametrize("step", [Break(500), Break(200)])
@pytest.mark.long
async def test_a_model_that_fails_once_is_asked_again(
    typed: Scene, step: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("switchboard_engine.conversation.clocks.ANSWER_S", 1.5)
    typed.model.rules = {"first": step, "second": Say("Here I am.")}
    await typed.answered()
    await typed.greeted()
    await typed.tell("first")
    await typed.until(lambda: typed.said("bot")[-1].startswith("Sorry, I did not get through."))
    await typed.tell("second")
    await typed.until(lambda: typed.said("bot")[-1] == "Here I am.")


async def test_a_wrong_key_of_the_model_ends_with_a_sentence(typed: Scene) -> None:
    typed.model.otherwise = Break(401)
    await typed.answered()
    await typed.greeted()
    await typed.tell("hello")
    end = await typed.ended()
    assert end["by"] == "engine"
    assert end["reason"].startswith("the language model failed: ")
    assert typed.said("bot")[-1].startswith("I am sorry, something does not work here.")


async def test_a_service_that_is_lost_is_told_once(typed: Scene) -> None:
    from pipecat.utils.errors import ErrorCategory  # noqa: PLC0415

    await typed.answered()
    await typed.greeted()
    # Each sound of the customer may fail again, and their turns never get words.
    await typed.typed.customer.begin()
    for _ in range(3):
        await typed.typed.customer.fail(ErrorCategory.AUTHENTICATION)
    await typed.typed.customer.finish("")
    await typed.until(lambda: len(typed.typed.tone.said) == 2)
    await typed.typed.customer.fail(ErrorCategory.AUTHENTICATION)
    end = await typed.ended()
    assert (end["type"], end["by"]) == ("ended", "engine")
    assert end["reason"] == "the speech-to-text failed: the ear is broken"
    assert typed.said("bot") == ["Hello, this is Anna.", typed.typed.tone.said[1]]
    assert typed.typed.tone.said[1:] == ["I am sorry, something does not work here. Please call again later."]
    assert typed.model.requests == []


async def test_a_voice_that_breaks_ends_the_call(typed: Scene) -> None:
    from pipecat.utils.errors import ErrorCategory  # noqa: PLC0415

    await typed.answered()
    await typed.greeted()
    typed.typed.tone.broken = ErrorCategory.AUTHENTICATION
    await typed.tell("hello")
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("engine", "the text-to-speech failed: the voice is broken")


async def test_the_longest_duration_ends_a_call(typed: Scene) -> None:
    await typed.answered(timings={"ringing_time": 20, "max_duration": 1})
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("assistant", "the longest duration of a call was reached")


class DeafSTT(TypedSTT):
    """Never connects."""

    async def setup(self, setup: FrameProcessorSetup) -> None:  # type: ignore[override]
        await super().setup(setup)
        await asyncio.sleep(600)


async def test_services_that_do_not_connect(typed: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("switchboard_engine.conversation.conversation.READY_S", 0.5)
    typed.typed.ears = DeafSTT
    line = await typed.begin()
    line.ring()
    end = await typed.ended()
    assert (end["type"], end["reason"]) == ("failed", "the services did not connect within 0 s")
    assert line.ended is not None
    # A caller is told that nobody can take the call.
    arrival = MemoryArrival(typed.leg, "+12025550001", "+12025550100")
    await typed.arrive(arrival)
    await typed.ended()
    assert arrival.rejected == 503


async def test_a_conversation_that_breaks_is_told(typed: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("switchboard_engine.conversation.conversation.Functions.register", broken)
    line = await typed.begin()
    end = await typed.ended()
    assert (end["type"], end["reason"]) == ("failed", "the conversation broke")
    assert line.ended is not None
