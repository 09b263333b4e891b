"""Languages that vendors know by other names than BCP 47 arrive under theirs."""

from typing import Any

import pytest

from switchboard_engine.providers import ProviderServices
from switchboard_engine.providers.stt import deepgram_code

from .catalogue import entries, entry


def heard_as(services: ProviderServices, code: str, tag: str) -> str:
    """Return the code that a transcriber sends for a language."""
    service: Any = services.stt(entry("transcriber_providers", code), languages=[tag]).service
    match code:
        case "gladia":
            heard = service.settings.language_config.languages[0]
        case "speechmatics":
            heard = service._build_config(service.settings).language
        case "soniox":
            heard = __import__("pipecat.services.soniox.stt", fromlist=["_"])._prepare_language_hints(
                service.settings.language_hints
            )[0]
        case "openai":
            heard = service._language_to_code(service.settings.language)
        case _:
            heard = service.settings.language
    return str(heard)


HEARD = [
    ("azure-speech", {"nb-NO": "nb-NO", "fil-PH": "fil-PH", "zh-HK": "zh-HK", "ar-EG": "ar-EG"}),
    ("gladia", {"nb-NO": "no", "fil-PH": "tl", "en-GB": "en", "zh-CN": "zh"}),
    ("openai", {"nb-NO": "no", "fil-PH": "tl", "en-GB": "en", "zh-CN": "zh"}),
    ("soniox", {"nb-NO": "no", "fil-PH": "tl", "en-GB": "en", "zh-CN": "zh"}),
    ("speechmatics", {"nb-NO": "no", "fil-PH": "tl", "zh-CN": "cmn", "zh-HK": "yue", "de-DE": "de"}),
]


@pytest.mark.parametrize(("code", "codes"), HEARD, ids=[code for code, _ in HEARD])
async def test_transcribers_hear_languages_by_their_own_codes(
    code: str, codes: dict[str, str], services: ProviderServices
) -> None:
    assert {tag: heard_as(services, code, tag) for tag in codes} == codes


SPOKEN = [
    ("elevenlabs", {"nb-NO": "no", "fil-PH": "fil", "pt-BR": "pt"}),
    ("cartesia", {"nb-NO": "no", "fil-PH": "tl", "he-IL": "he", "es-MX": "es"}),
    ("amazon-polly", {"nb-NO": "nb-NO", "zh-CN": "cmn-CN", "zh-HK": "yue-CN", "ar": "arb", "en-GB": "en-GB"}),
    ("azure-speech", {"nb-NO": "nb-NO", "fil-PH": "fil-PH", "zh-HK": "zh-HK"}),
]


@pytest.mark.parametrize(("code", "codes"), SPOKEN, ids=[code for code, _ in SPOKEN])
async def test_synthesizers_speak_languages_by_their_own_codes(
    code: str, codes: dict[str, str], services: ProviderServices
) -> None:
    provider = entry("synthesizer_providers", code)
    voice = next(one for one in entries("voices") if one.get("synthesizer_provider_id") == provider["id"])
    spoken: dict[str, str] = {}
    for tag in codes:
        service: Any = services.tts(provider, voice, language=tag, options={}).service
        spoken[tag] = str(service.settings.language)
    assert spoken == codes


async def test_google_speaks_in_the_language_of_the_voice(services: ProviderServices) -> None:
    provider = entry("synthesizer_providers", "google-cloud-tts")
    mandarin = next(one for one in entries("voices") if one["engine"]["voice_id"].startswith("cmn-CN-Chirp3"))
    service: Any = services.tts(provider, mandarin, language="en-US", options={}).service
    assert service.settings.language == "cmn-CN"


def test_deepgram_has_codes_of_its_own() -> None:
    tags = ["en-GB", "de-DE", "de-CH", "es-MX", "nb-NO", "fil-PH", "zh-TW", "ar-EG", "ko-KR"]
    assert [deepgram_code(tag) for tag in tags] == [
        "en-GB",
        "de",
        "de-CH",
        "es-419",
        "no",
        "tl",
        "zh-TW",
        "ar",
        "ko-KR",
    ]
