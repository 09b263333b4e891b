"""Keys and addresses: what is missing is named, and a key goes to nobody but its vendor."""

from typing import Any

import pytest

from switchboard_engine.providers import ProviderServices
from switchboard_engine.providers.accounts import NO_KEY, OPENAI, Account, Kind, access
from switchboard_engine.providers.entry import load
from switchboard_engine.services import ProviderError

from .catalogue import entries, entry
from .keys import ACCOUNTS, without

OWN = {"vendor": "openai", "model": "ours-8b", "url": "http://10.0.0.7/v1"}


@pytest.mark.parametrize("account", ACCOUNTS, ids=lambda account: account.name)
def test_a_missing_key_is_named(account: Account, keys: dict[str, str]) -> None:
    assert access(account, Kind.LLM, {}, keys).key == keys[account.keys[0]]
    for name in account.keys:
        with pytest.raises(ProviderError, match=f"{account.name} needs {name} in the engine's environment"):
            access(account, Kind.LLM, {}, without(keys, name))


@pytest.mark.parametrize(
    ("engine", "environment", "url", "key"),
    [
        ({}, {"OPENAI_API_KEY": "k"}, None, "k"),
        ({}, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://a"}, "http://a", "k"),
        ({}, {"OPENAI_BASE_URL": "http://a"}, "http://a", NO_KEY),
        ({}, {"OPENAI_BASE_URL": "http://a", "OPENAI_STT_BASE_URL": "http://b"}, "http://b", NO_KEY),
        ({"url": "http://c"}, {"OPENAI_API_KEY": "k", "OPENAI_STT_BASE_URL": "http://b"}, "http://c", NO_KEY),
        ({"url": "http://c", "key_variable": "OUR_KEY"}, {"OPENAI_API_KEY": "k", "OUR_KEY": "o"}, "http://c", "o"),
    ],
)
def test_the_nearest_address_counts_and_only_a_vendors_own_gets_its_key(
    engine: dict[str, Any], environment: dict[str, str], url: str | None, key: str
) -> None:
    reached = access(OPENAI, Kind.STT, engine, environment)
    assert (reached.url, reached.key) == (url, key)
    assert key == NO_KEY or key not in repr(reached)


@pytest.mark.parametrize(
    ("engine", "sentence"),
    [
        (
            {**OWN, "key_variable": "HOME"},
            "key_variable is 'HOME'; it must be the name of a variable that ends in _KEY",
        ),
        ({**OWN, "key_variable": 7}, "key_variable is 7"),
        ({**OWN, "key_variable": "OUR_KEY"}, "http://10.0.0.7/v1 needs OUR_KEY in the engine's environment"),
        (
            {**OWN, "vendor": "aws"},
            "The address of Amazon Web Services cannot be replaced by http://10.0.0.7/v1",
        ),
    ],
)
async def test_a_wrong_address_or_key_variable_is_refused(
    engine: dict[str, Any], sentence: str, keys: dict[str, str]
) -> None:
    services = ProviderServices({**keys, "HOME": "/root"})
    with pytest.raises(ProviderError, match=sentence):
        services.llm({"name": "Ours", "engine": engine})


async def test_each_kind_asks_for_its_key() -> None:
    services = ProviderServices({})
    voice = next(one for one in entries("voices") if one["code"] == "elevenlabs-rachel")
    with pytest.raises(ProviderError, match="Deepgram needs DEEPGRAM_API_KEY"):
        services.stt(entry("transcriber_providers", "deepgram"), languages=["en-US"])
    with pytest.raises(ProviderError, match="ElevenLabs needs ELEVENLABS_API_KEY"):
        services.tts(entry("synthesizer_providers", "elevenlabs"), voice, language="en-US", options={})
    with pytest.raises(ProviderError, match="OpenAI needs OPENAI_API_KEY"):
        services.llm(entry("llm_models", "gpt-4.1"))
    with pytest.raises(ProviderError, match="Google Gemini needs GOOGLE_API_KEY"):
        services.realtime(entry("multimodal_models", "gemini-2-5-flash-live"), voice=None, language="en-US", options={})


def test_a_missing_wheel_names_the_extra() -> None:
    account = Account("Somebody", "SOMEBODY", ("SOMEBODY_KEY",), extra="somebody")
    with pytest.raises(ProviderError, match=r"Somebody needs the extra `somebody`: pip install 'switchboard-engine"):
        load("a_wheel_that_is_not_there:Service", account)
