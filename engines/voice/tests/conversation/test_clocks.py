"""The time limits of a call, on a clock of the test's own."""

from types import SimpleNamespace
from typing import Any

import pytest

from switchboard_engine.client import Assistant
from switchboard_engine.conversation.clocks import Clocks
from switchboard_engine.conversation.phrases import phrases_of
from switchboard_engine.conversation.settings import ConversationSettings
from switchboard_engine.conversation.signals import Signals
from switchboard_engine.conversation.talk import End, Talk

from .conftest import assistant


class Quiet:
    """A conversation in which nobody speaks but the engine, at once; it notes what it is asked to do, and when."""

    def __init__(self, **timings: int) -> None:
        limits = {"ringing_time": 20, "max_duration": 600, "max_silence_duration": 40, "reengagement_interval": 30}
        entry = assistant(timings={**limits, **timings})
        self.now = 1_000.0
        self.settings = ConversationSettings.read(Assistant.read(entry))
        self.signals = Signals(lambda: self.now)
        self.speech = SimpleNamespace(quiet=SimpleNamespace(is_set=lambda: True), spoken=0)
        self.working, self.on_hold = 0, False
        self.phrases = phrases_of("en")
        self.said: list[float] = []
        self.ended: tuple[float, End] | None = None

    @property
    def is_ending(self) -> bool:
        return self.ended is not None

    async def say(self, _: str) -> None:
        self.said.append(self.now - 1_000)
        self.speech.spoken += 1

    def end(self, by: str, reason: str) -> None:
        self.ended = (self.now - 1_000, End(by, reason))

    async def watched(self) -> tuple[float, str]:
        """Watch until the end; returns when it came, seconds after the answer, and why."""
        talk: Any = self
        clocks = Clocks(talk, lambda: self.now)
        while self.ended is None:
            self.now += 0.5
            await clocks.tick()
        return self.ended[0], self.ended[1].reason


def test_it_has_what_the_clocks_ask_of_a_conversation() -> None:
    """Hold the double to the real thing."""
    assert {"say", "end", "is_ending", "phrases", "give_up", "interrupt", "context"} <= set(dir(Talk))


async def test_a_silent_customer_is_spoken_to_until_the_longest_duration() -> None:
    quiet = Quiet()
    assert await quiet.watched() == (600, "the longest duration of a call was reached")
    assert quiet.said == [40.0 + 30 * nth for nth in range(19)]


@pytest.mark.parametrize(
    ("timings", "said"),
    [
        ({"max_silence_duration": 360, "max_duration": 500}, [360, 390, 420, 450, 480]),
        ({"max_silence_duration": 1, "reengagement_interval": 600, "max_duration": 700}, [1, 601]),
        ({"reengagement_interval": 7, "max_duration": 60}, [40, 47, 54]),
    ],
)
async def test_a_silent_customer_is_spoken_to_at_the_times_of_the_assistant(
    timings: dict[str, int], said: list[float]
) -> None:
    quiet = Quiet(**timings)
    await quiet.watched()
    assert quiet.said == said


async def test_silence_at_the_start_ends_a_call_whatever_is_said_into_it() -> None:
    quiet = Quiet(max_initial_silence_duration=100, max_silence_duration=20)
    assert await quiet.watched() == (100, "the customer said nothing at the start of the call")
    assert quiet.said == [20, 50, 80]


async def test_a_customer_who_spoke_is_not_hung_up_on_for_silence_at_the_start() -> None:
    quiet = Quiet(max_initial_silence_duration=5, max_duration=100)
    await quiet.signals.customer_said("hello")
    assert (await quiet.watched())[0] == 100
    assert quiet.said == [40, 70]
