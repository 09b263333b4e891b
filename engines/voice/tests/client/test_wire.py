"""A newer service can be served: what is unknown or of another type counts as absent."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.fake_service import entry
from switchboard_engine.client import events
from switchboard_engine.client.wire import Assistant, Claimed, EventsAnswer, ServiceInfo, read_commands

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def test_a_claimed_call() -> None:
    claimed = Claimed.read(entry(9, from_raw="anonymous"))
    assert claimed is not None
    assert (claimed.call.id, claimed.call.from_raw, claimed.next_seq) == (9, "anonymous", 1)
    assert claimed.assistant.voice is not None
    assert claimed.assistant.voice.engine == {"vendor": "x", "voice_id": "r"}
    function = claimed.assistant.function("look_up")
    assert function is not None
    assert (function.kind, function.timeout, claimed.assistant.function("other")) == ("tool", 2.0, None)
    assert (claimed.assistant.timings.max_duration, claimed.assistant.turns.stop_ms) == (300, 200)
    assert claimed.assistant.raw["prompt"] == "You answer."


@pytest.mark.parametrize("call", [None, [], {}, {"id": None}, {"id": 0}, {"id": -1}, {"id": "1"}, {"id": True}])
def test_a_call_without_an_id_is_none(call: Any) -> None:
    assert Claimed.read({"call": call}) is None


def test_credentials_and_customers_stay_out_of_text_forms() -> None:
    claimed = Claimed.read(entry(9))
    assert claimed is not None
    assert "secret of the trunk" not in repr(claimed)
    assert "Ada Park" not in repr(claimed)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_members_of_other_types_count_as_absent(data: st.DataObject) -> None:
    odd = entry(9)
    for part in ("assistant", "telephony"):
        for name in list(odd[part]):
            odd[part][name] = data.draw(JSON)
    odd["call"] = {**{name: data.draw(JSON) for name in odd["call"]}, "id": 9}
    claimed = Claimed.read(odd)
    assert claimed is not None
    assert isinstance(claimed.assistant.name, str)
    assert isinstance(claimed.assistant.timings.ringing_time, int)


@settings(max_examples=40, deadline=None)
@given(answer=st.dictionaries(st.sampled_from(["protocol", "event_types", "lease_seconds", "limits"]), JSON))
def test_any_object_is_an_answer_about_the_service(answer: dict[str, Any]) -> None:
    info = ServiceInfo.read(answer)
    assert isinstance(info.protocol, int)
    assert isinstance(info.lease_seconds, float)


@pytest.mark.parametrize(
    ("commands", "expected"),
    [
        ([{"call_id": 2, "id": 1, "type": "hangup"}], [(2, 1, "hangup")]),
        ([{"id": "c1", "type": "say", "text": "x"}], [(7, "c1", "say")]),
        ([{"id": 1}, {"type": "hangup"}, "hangup", None, {"id": True, "type": "hangup"}], []),
        ("hangup", []),
        (None, []),
    ],
)
def test_commands(commands: Any, expected: list[tuple[int, int | str, str]]) -> None:
    assert [(c.call_id, c.id, c.type) for c in read_commands({"commands": commands}, 7)] == expected


@pytest.mark.parametrize(
    ("status", "is_over"),
    [("initiated", False), ("ringing", False), ("in-progress", False), ("ended", True), ("busy", True), (None, False)],
)
def test_when_a_call_is_over(status: str | None, is_over: bool) -> None:
    assert EventsAnswer.read({"call_status": status}, 1).is_over is is_over


def test_an_assistant_without_members_has_defaults() -> None:
    assistant = Assistant.read({})
    assert (assistant.mode, assistant.record, assistant.allow_interruptions) == ("pipeline", False, True)
    assert (assistant.functions, assistant.voice) == ((), None)


AT = datetime(2026, 1, 31, 15, 5, 9, 120, tzinfo=timezone(timedelta(hours=1)))


CASES: list[tuple[events.Event, dict[str, Any]]] = [
    (events.Dialing(), {"type": "dialing"}),
    (events.Hold(at=AT), {"type": "hold", "at": "2026-01-31T14:05:09.000120Z"}),
    (events.Release("no room"), {"type": "release", "reason": "no room"}),
    (events.Answered(), {"type": "answered", "answered_by": "unknown"}),
    (
        events.Detected("machine", kind="voicemail", beep=False),
        {"type": "detected", "answered_by": "machine", "kind": "voicemail", "beep": False},
    ),
    (
        events.Transcript("bot", "Hi.", turn=0, started_at=AT, interrupted=True, confidence=0.5),
        {
            "type": "transcript",
            "sender": "bot",
            "text": "Hi.",
            "turn": 0,
            "started_at": "2026-01-31T14:05:09.000120Z",
            "interrupted": True,
            "confidence": 0.5,
        },
    ),
    (events.Partial(1, "Hi"), {"type": "partial", "turn": 1, "text": "Hi"}),
    (events.Variables({"a": None}), {"type": "variables", "variables": {"a": None}}),
    (events.Dtmf("1#", by="customer"), {"type": "dtmf", "digits": "1#", "by": "customer"}),
    (
        events.Transfer("+1", mode="warm", status="failed", reason="busy"),
        {"type": "transfer", "to": "+1", "mode": "warm", "status": "failed", "reason": "busy"},
    ),
    (events.Resume(), {"type": "resume"}),
    (events.Recording("https://r.example"), {"type": "recording", "url": "https://r.example"}),
    (events.Metrics(2, total_ms=612.5), {"type": "metrics", "turn": 2, "total_ms": 612.5}),
    (events.Quality(mos=4.2, codec="PCMU"), {"type": "quality", "mos": 4.2, "codec": "PCMU"}),
    (events.Usage(llm_tokens_in=0), {"type": "usage", "llm_tokens_in": 0}),
    (events.Unsupported(("ambient_sound",)), {"type": "unsupported", "settings": ["ambient_sound"]}),
    (events.CommandResult("c1", "done"), {"type": "command", "id": "c1", "status": "done"}),
    (events.Ended("customer"), {"type": "ended", "by": "customer"}),
    (events.Failed("busy"), {"type": "failed", "reason": "busy"}),
    (events.Cost(0.0, 0.02), {"type": "cost", "carrier_cost": 0.0, "total_cost": 0.02}),
    (events.Ringing(), {"type": "ringing"}),
]


@pytest.mark.parametrize(("event", "members"), CASES)
def test_the_members_of_each_event(event: events.Event, members: dict[str, Any]) -> None:
    assert event.members() == members


def test_every_event_has_a_case_here_and_a_type_of_its_own() -> None:
    kinds = [kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, events.Event)]
    kinds.remove(events.Event)
    assert len(kinds) == len({kind.type for kind in kinds}) == 21
    assert {type(event) for event, _ in CASES} == set(kinds)


@pytest.mark.parametrize(
    ("reason", "expected"), [(None, None), ("", None), ("  ", None), (" a ", "a"), ("x" * 300, "x" * 255)]
)
def test_a_reason_has_the_length_that_the_service_takes(reason: str | None, expected: str | None) -> None:
    assert events.clipped(reason) == expected


def test_times_are_utc() -> None:
    assert events.iso(datetime(2026, 1, 31, tzinfo=UTC)) == "2026-01-31T00:00:00.000000Z"
