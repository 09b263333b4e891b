"""The command that says which vendors are ready."""

import pytest

from switchboard_engine import cli
from switchboard_engine.providers.check import report

from .keys import without


def lines(environment: dict[str, str]) -> dict[tuple[str, str], str]:
    """Return what is said, by kind and vendor."""
    said = [line.split(maxsplit=2) for line in report(environment).partition("\n\n")[0].splitlines()]
    return {(kind, vendor): state for kind, vendor, state in said}


def test_those_with_keys_are_ready_and_others_say_what_they_lack(keys: dict[str, str]) -> None:
    said = lines({**without(keys, "GROQ_API_KEY"), "OPENAI_STT_BASE_URL": "http://10.0.0.7/v1"})
    assert said["STT", "deepgram"] == "ready"
    assert said["STT", "openai"] == "ready, at http://10.0.0.7/v1"
    assert said["LLM", "openai"] == "ready"
    assert said["LLM", "groq"] == "Groq needs GROQ_API_KEY in the engine's environment."
    assert not any(key in state for key in keys.values() for state in said.values())


def test_nobody_is_ready_without_keys() -> None:
    assert not any("ready" in state for state in lines({}).values())


def test_substitutes_are_said(keys: dict[str, str]) -> None:
    said = report({**keys, "SWITCHBOARD_ENGINE_FALLBACK_STT": "deepgram/nova-3, azure"})
    assert "Substitutes for STT: deepgram/nova-3, azure\nSubstitutes for TTS: none\n" in said


def test_the_command_prints_it_and_fails_for_wrong_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARTESIA_API_KEY", "a-key-of-nobody")
    assert cli.main(["check"]) == 0
    said = capsys.readouterr().out
    assert "TTS       cartesia      ready" in said
    assert "a-key-of-nobody" not in said
    monkeypatch.setenv("SWITCHBOARD_ENGINE_TIMEOUT_LLM", "soon")
    assert cli.main(["check"]) == 1
    assert "TIMEOUT_LLM is 'soon'" in capsys.readouterr().err
