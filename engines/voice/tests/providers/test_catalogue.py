"""Every entry of the shipped catalogue becomes a service with the vendor's ids, or says in a sentence why not."""

import importlib.util
from typing import Any

import pytest

from switchboard_engine.providers import ProviderServices
from switchboard_engine.providers.llm import LLM
from switchboard_engine.providers.realtime import REALTIME
from switchboard_engine.providers.stt import STT
from switchboard_engine.providers.tts import TTS
from switchboard_engine.services import ProviderError

from .catalogue import CATALOGUE, entries, entry, tags_of

TABLES = {
    "transcriber_providers": STT,
    "synthesizer_providers": TTS,
    "llm_models": LLM,
    "multimodal_models": REALTIME,
}
TAGS = {one["id"]: one["code"] for one in entries("languages")}
SPEAK_ONLY = {"gemini-2-5-flash-native-audio", "nova-sonic", "nova-2-sonic"}
UNREACHABLE = {"qwen3-omni-flash-realtime"}
PIPECATS_FILE = pytest.mark.filterwarnings("ignore:Exception ignored in. .*ready.wav")
"""Its service of Nova Sonic leaves a file open."""
HAS_NOVA_SONIC = importlib.util.find_spec("aws_sdk_bedrock_runtime") is not None


@pytest.fixture
def quick_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the clients that read certificates when they are made: they are not asked here."""
    monkeypatch.setattr("pipecat.services.openai.base_llm.BaseOpenAILLMService.create_client", lambda *_, **__: None)
    monkeypatch.setattr("pipecat.services.deepgram.stt.AsyncDeepgramClient", lambda **_: None)


def test_the_catalogue_is_the_one_that_is_shipped() -> None:
    assert {name: len(CATALOGUE[name]) > 0 for name in TABLES} == dict.fromkeys(TABLES, True)
    assert len(entries("voices")) > 300


@pytest.mark.parametrize("name", TABLES)
def test_every_vendor_has_a_row_and_every_row_a_vendor(name: str) -> None:
    assert {one["engine"]["vendor"] for one in entries(name)} == set(TABLES[name])


@pytest.mark.usefixtures("quick_clients")
async def test_every_language_model_has_its_id_and_temperature(services: ProviderServices) -> None:
    for one in entries("llm_models"):
        model = services.llm(one, temperature=0.3).model
        assert model is not None
        assert model.settings.model == one["engine"]["model"], one["code"]
        fixed = one["code"].startswith("gpt-5")
        assert (getattr(model.settings, "temperature", None) == 0.3) is not fixed, one["code"]


@pytest.mark.usefixtures("quick_clients")
async def test_every_transcriber_hears_its_languages_alone_and_together(services: ProviderServices) -> None:
    for one in entries("transcriber_providers"):
        tags = tags_of(one)
        alone = [[tag] for tag in tags] if one["code"] != "google-cloud-stt" else []  # its client takes long to make
        together = [tags[at : at + 10] for at in range(0, len(tags), 10)]
        for languages in alone + together:
            settings: Any = services.stt(one, languages=languages).service.settings  # type: ignore[union-attr]
            assert settings.model == one["engine"].get("model", settings.model), (one["code"], languages)


async def test_every_voice_has_its_id_and_its_providers_model(services: ProviderServices) -> None:
    providers = {one["id"]: one for one in entries("synthesizer_providers")}
    spoken = [voice for voice in entries("voices") if voice.get("synthesizer_provider_id")]
    assert spoken
    for voice in spoken:
        provider = providers[voice["synthesizer_provider_id"]]
        tag = TAGS.get(voice.get("language_id"), "en-US")
        settings: Any = services.tts(provider, voice, language=tag, options={}).service.settings  # type: ignore[union-attr]
        assert settings.voice == voice["engine"]["voice_id"], voice["code"]
        if provider["code"] in ("elevenlabs", "cartesia", "openai-tts"):
            assert settings.model == provider["engine"]["model"], voice["code"]
        if provider["code"] == "amazon-polly":
            assert settings.engine == voice["engine"].get("model", provider["engine"]["model"]), voice["code"]


@PIPECATS_FILE
@pytest.mark.parametrize("mode", ["multimodal", "dualplex"])
@pytest.mark.parametrize("model", entries("multimodal_models"), ids=lambda model: model["code"])
async def test_every_realtime_model_is_made_or_says_why_not(
    services: ProviderServices, model: dict[str, Any], mode: str
) -> None:
    def make() -> Any:
        return services.realtime(model, voice=None, language="de-DE", options={"mode": mode}).service

    code, vendor = model["code"], model["engine"]["vendor"]
    if code in UNREACHABLE:
        with pytest.raises(ProviderError, match="Pipecat has no service for Qwen's realtime models"):
            make()
    elif vendor == "aws" and not HAS_NOVA_SONIC:
        with pytest.raises(ProviderError, match=r"needs the extra `nova-sonic`"):
            make()
    elif code in SPEAK_ONLY and mode == "dualplex":
        with pytest.raises(ProviderError, match="only speaks itself; dualplex needs a model that can write"):
            make()
    elif vendor == "ultravox":
        made = make()._params
        assert (made.model, made.output_medium) == (model["engine"]["model"], {"dualplex": "text"}.get(mode, "voice"))
    else:
        assert make().settings.model == model["engine"]["model"]


@PIPECATS_FILE
async def test_every_voice_of_a_realtime_model_is_its_own(services: ProviderServices) -> None:
    for voice in entries("voices"):
        if voice.get("modes") != ["multimodal"]:
            continue
        vendor = voice["engine"]["vendor"]
        if vendor == "aws" and not HAS_NOVA_SONIC:
            continue
        model = next(one for one in entries("multimodal_models") if one["engine"]["vendor"] == vendor)
        made: Any = services.realtime(model, voice=voice, language="en-US", options={"mode": "multimodal"}).service
        session = getattr(made.settings, "session_properties", None)
        heard = session.audio.output.voice if session else made.settings.voice
        assert heard == voice["engine"]["voice_id"], voice["code"]


BROKEN: list[tuple[str, dict[str, Any], str]] = [
    ("transcriber_providers", {"engine": None}, "does not say the vendor of the transcriber Deepgram"),
    ("transcriber_providers", {"engine": {"vendor": "nobody"}}, "No speech-to-text of the vendor nobody; there are"),
    ("transcriber_providers", {"engine": {"vendor": "deepgram"}}, "does not say the model of the transcriber Deepgram"),
    ("llm_models", {"engine": {"vendor": "openai"}}, "does not say the model of the language model GPT-4.1"),
    ("llm_models", {"engine": {"vendor": "nobody", "model": "x"}}, "No language model of the vendor nobody"),
    (
        "llm_models",
        {"engine": {"vendor": "openai", "model": "x", "settings": {"mood": 1}}},
        "settings that its vendor does not know: mood. It knows .*temperature",
    ),
]


@pytest.mark.parametrize(("name", "change", "sentence"), BROKEN, ids=[sentence for *_, sentence in BROKEN])
async def test_a_broken_entry_is_refused(
    services: ProviderServices, name: str, change: dict[str, Any], sentence: str
) -> None:
    broken = {**entries(name)[0], **change}
    with pytest.raises(ProviderError, match=sentence):
        if name == "llm_models":
            services.llm(broken)
        else:
            services.stt(broken, languages=["en-US"])


async def test_a_voice_without_an_id_and_an_assistant_without_entries_are_refused(services: ProviderServices) -> None:
    provider, voice = entry("synthesizer_providers", "cartesia"), entry("voices", "cartesia-katie")
    nameless = {**voice, "engine": {"vendor": "cartesia"}}
    with pytest.raises(ProviderError, match="does not say the voice_id of the voice Katie"):
        services.tts(provider, nameless, language="en-US", options={})
    with pytest.raises(ProviderError, match="The assistant has no synthesizer"):
        services.tts(None, voice, language="en-US", options={})
    with pytest.raises(ProviderError, match="The assistant has no language"):
        services.stt(entry("transcriber_providers", "deepgram"), languages=[])
    with pytest.raises(ProviderError, match="voice_stability is 'calm'; it must be a number"):
        services.tts(provider, voice, language="en-US", options={"voice_stability": "calm"})
