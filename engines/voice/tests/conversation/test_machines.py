"""Who answers an outbound call, and what is done with a machine; silence; the recording; the sound behind it all."""

import asyncio
import io
import wave

import numpy as np
import pytest

from legs.sound import Samples, audible, power, tone

from .conftest import Scene, say
from .script import Say

MESSAGE = "This is Anna. Please call back."


def beep() -> Samples:
    """Return the tone of a mailbox."""
    return tone(1_000, 0.4, 16_000)


async def test_a_voicemail_gets_its_message_after_the_beep(typed: Scene) -> None:
    line = await typed.answered(voicemail=MESSAGE, end_call_on_voicemail=1)
    await typed.greeted()
    await typed.tell("you have reached the mailbox of john please leave a message after the tone")
    await typed.until(lambda: len(typed.fake.of("detected")) == 1)
    await asyncio.sleep(0.5)
    assert MESSAGE not in typed.typed.tone.said
    beeped = await say(line, beep())
    end = await typed.ended()
    assert (end["by"], end["reason"]) == ("assistant", "voicemail")
    assert typed.said("bot")[-1] == MESSAGE
    assert [(event["kind"], event.get("beep")) for event in typed.fake.of("detected")] == [
        ("voicemail", None),
        ("voicemail", True),
    ]
    first = line.audio.first_sound(beeped - 0.3)
    assert first is not None
    assert first > beeped - 0.3
    # The mailbox is not talked to.
    assert typed.typed.tone.said == ["Hello, this is Anna.", MESSAGE]


@pytest.mark.long
async def test_a_voicemail_without_a_beep_gets_its_message_after_a_silence(typed: Scene) -> None:
    await typed.answered(voicemail=MESSAGE)
    await typed.greeted()
    await typed.typed.customer.begin()
    await typed.typed.customer.partly("please leave your message")
    await typed.ended()
    assert typed.said("bot")[-1] == MESSAGE


@pytest.mark.long
async def test_a_voicemail_is_talked_to_where_the_assistant_may(typed: Scene) -> None:
    await typed.answered(voicemail=MESSAGE, end_call_on_voicemail=0)
    await typed.greeted()
    await typed.tell("please leave a message after the tone")
    await typed.greeted(2)
    assert [event["kind"] for event in typed.fake.of("detected")] == ["voicemail"]


@pytest.mark.long
async def test_a_screening_is_told_to_the_model(typed: Scene) -> None:
    await typed.answered()
    await typed.greeted()
    await typed.tell("hi who is calling please state your name")
    await typed.greeted(2)
    await typed.tell("hello john speaking")
    await typed.greeted(3)
    assert [event["kind"] for event in typed.fake.of("detected")] == ["screening"]
    assert "An automatic call screening answered" in str(typed.model.requests[-1]["messages"])


@pytest.mark.long
async def test_a_long_greeting_is_put_to_the_model(typed: Scene) -> None:
    words = "thanks for ringing we are out on the boat this week with the kids and back on monday morning so try then"
    typed.model.rules = {"boat": Say("voicemail")}
    await typed.answered(voicemail=None)
    await typed.greeted()
    await typed.tell(words)
    await typed.until(lambda: len(typed.fake.of("detected")) >= 1)
    assert typed.fake.of("detected")[0]["kind"] == "voicemail"
    await typed.ended()


@pytest.mark.long
async def test_a_silent_customer_is_spoken_to_again(typed: Scene) -> None:
    timings = {"ringing_time": 20, "max_duration": 300, "max_silence_duration": 1, "reengagement_interval": 1}
    typed.model.rules = {"ask for the order": Say("What did you order?")}
    await typed.answered(reengagement="Ask for the order.", timings=timings)
    await typed.greeted(3)
    assert typed.said("bot")[1:3] == ["What did you order?"] * 2
    assert "The customer has been silent" in str(typed.model.requests[0]["messages"])


async def test_a_customer_who_never_speaks_is_hung_up_on(typed: Scene) -> None:
    timings = {"ringing_time": 20, "max_duration": 300, "max_initial_silence_duration": 1}
    await typed.answered(timings=timings)
    end = await typed.ended()
    assert end["reason"] == "the customer said nothing at the start of the call"


async def test_both_sides_are_recorded(typed: Scene) -> None:
    line = await typed.answered(record=True)
    await typed.greeted()
    await say(line, tone(1_500, 0.6, 16_000))
    await asyncio.sleep(0.3)
    line.end()
    await typed.ended()
    assert typed.fake.recording is not None
    with wave.open(io.BytesIO(typed.fake.recording), "rb") as file:
        assert (file.getnchannels(), file.getsampwidth(), file.getframerate()) == (2, 2, 8_000)
        both = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16).reshape(-1, 2)
        seconds = file.getnframes() / 8_000
    customer, bot = both[:, 0], both[:, 1]
    assert 1.2 < seconds < 4
    assert power(audible(customer), 1_500, 8_000) > 0.8
    assert power(audible(bot), 440, 8_000) > 0.8
    # The assistant spoke before the customer did.
    assert np.argmax(np.abs(bot) > 2_000) < np.argmax(np.abs(customer) > 2_000)


@pytest.mark.long
async def test_a_recording_is_not_made_where_nobody_answers(typed: Scene) -> None:
    line = await typed.begin(record=True)
    line.end("customer")
    await typed.ended()
    assert typed.fake.recording is None


@pytest.mark.long
async def test_the_office_is_heard_behind_it(typed: Scene) -> None:
    line = await typed.answered(ambient_sound="office", ambient_sound_volume="1.00", wait_for_customer=True)
    await typed.until(lambda: "answered" in typed.fake.types)
    await asyncio.sleep(0.6)
    heard = line.audio.samples()
    assert 0.3 < len(heard) / 16_000 < 1.2
    assert 300 < float(np.sqrt(np.mean(heard.astype(np.float64) ** 2))) < 2_500


@pytest.mark.long
async def test_a_sound_that_cannot_be_played_is_told(typed: Scene) -> None:
    await typed.answered(ambient_sound="disco")
    await typed.greeted()
    assert typed.fake.of("unsupported")[0]["settings"] == ["ambient_sound"]


@pytest.mark.long
async def test_a_recording_that_cannot_be_made_is_told(typed: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/no/such/folder")
    await typed.answered(record=True)
    await typed.greeted()
    assert typed.fake.of("unsupported")[0]["settings"] == ["record"]
