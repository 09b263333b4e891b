"""The operator's settings: substitutes and patience."""

import pytest

from switchboard_engine.providers import ProviderServices
from switchboard_engine.providers.accounts import Kind
from switchboard_engine.providers.settings import ProviderSettings
from switchboard_engine.services import ProviderError


def test_substitutes_are_read_in_order(keys: dict[str, str]) -> None:
    settings = ProviderSettings.read(
        {
            **keys,
            "SWITCHBOARD_ENGINE_FALLBACK_STT": "deepgram/nova-3, azure",
            "SWITCHBOARD_ENGINE_FALLBACK_TTS": "cartesia/sonic-3@f786b574, azure@en-US-JennyNeural",
            "SWITCHBOARD_ENGINE_FALLBACK_LLM": "groq/openai/gpt-oss-120b,aws/amazon.nova-lite-v1:0",
            "SWITCHBOARD_ENGINE_TIMEOUT_TTS": "2.5",
            "SWITCHBOARD_ENGINE_TIMEOUT_CONNECT": "1",
        }
    )
    assert [dict(entry.engine) for kind in Kind for entry in settings.fallbacks.get(kind, ())] == [
        {"vendor": "deepgram", "model": "nova-3"},
        {"vendor": "azure"},
        {"vendor": "cartesia", "model": "sonic-3", "voice_id": "f786b574"},
        {"vendor": "azure", "voice_id": "en-US-JennyNeural"},
        {"vendor": "groq", "model": "openai/gpt-oss-120b"},
        {"vendor": "aws", "model": "amazon.nova-lite-v1:0"},
    ]
    assert (settings.patience[Kind.TTS].answer_s, settings.patience[Kind.LLM].answer_s) == (2.5, 8.0)
    assert settings.patience[Kind.STT].connect_s == 1.0


WRONG = [
    ("FALLBACK_STT", "deepgram", "has 'deepgram', which is not vendor/model, such as deepgram/nova-3"),
    ("FALLBACK_STT", "deepgram/nova-3@voice", "which is not vendor/model"),
    ("FALLBACK_STT", "nobody/x", "No speech-to-text of the vendor nobody"),
    ("FALLBACK_TTS", "cartesia/sonic-3", "which is not vendor/model@voice"),
    ("FALLBACK_LLM", "/gpt-4.1", "which is not vendor/model"),
    ("FALLBACK_LLM", ",".join(["openai/gpt-4.1"] * 9), "names 9 services; it may name 8"),
    ("TIMEOUT_LLM", "soon", "TIMEOUT_LLM is 'soon'; it must be seconds above 0, at most 120"),
    ("TIMEOUT_LLM", "0", "must be seconds above 0"),
    ("TIMEOUT_CONNECT", "121", "must be seconds above 0, at most 120"),
    ("TIMEOUT_STT", "nan", "must be seconds above 0"),
]


@pytest.mark.parametrize(("name", "value", "sentence"), WRONG)
def test_wrong_settings_are_refused_at_the_start(name: str, value: str, sentence: str, keys: dict[str, str]) -> None:
    with pytest.raises(ProviderError, match=sentence):
        ProviderServices({**keys, f"SWITCHBOARD_ENGINE_{name}": value})


def test_a_substitute_without_a_key_is_refused_at_the_start() -> None:
    with pytest.raises(ProviderError, match="Groq needs GROQ_API_KEY"):
        ProviderServices({"SWITCHBOARD_ENGINE_FALLBACK_LLM": "groq/llama-3.3-70b-versatile"})
