"""Language models: one row a vendor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipecat.services.llm_service import LLMService

from ..services import ProviderError
from . import accounts
from .accounts import Access, Account, Kind
from .entry import Entry, Loaded, load, settings_of

_COHERE_URL = "https://api.cohere.ai/compatibility/v1"


@dataclass(frozen=True, slots=True)
class LlmRequest:
    """A language model of the catalogue, the temperature of its answers (null for its own), and its prompt."""

    entry: Entry
    temperature: float | None
    prompt: str | None = None

    @property
    def model(self) -> str:
        """The vendor's name of the model."""
        return self.entry.required("model")

    @property
    def extra(self) -> dict[str, Any]:
        """What is added to the requests of a model, so that it does not think while the customer waits."""
        return dict(next((extra for prefix, extra in _UNTHINKING.items() if self.model.startswith(prefix)), {}))

    @property
    def takes_temperature(self) -> bool:
        """Whether the model takes a temperature at all."""
        return not self.model.startswith(_FIXED_TEMPERATURE)


_UNTHINKING: Mapping[str, Mapping[str, Any]] = {
    "gpt-5": {"reasoning_effort": "minimal"},
    "openai/gpt-oss": {"reasoning_effort": "low"},
    "qwen3": {"extra_body": {"enable_thinking": False}},
}
"""By the beginning of the model's name."""
_FIXED_TEMPERATURE = ("gpt-5", "o1", "o3", "o4")


@dataclass(frozen=True, slots=True)
class LlmVendor:
    """How a vendor's language model is reached."""

    account: Account
    service: str
    build: Callable[[Loaded, Access, LlmRequest], Loaded]


def _chat_completions(service: Loaded, access: Access, ask: LlmRequest) -> Loaded:
    settings = settings_of(service, ask.entry, model=ask.model, extra=ask.extra, **_given(ask))
    return service(api_key=access.key, **access.url_as("base_url"), settings=settings)


def _given(ask: LlmRequest) -> dict[str, object]:
    temperature = ask.temperature if ask.takes_temperature else None
    values = {"temperature": temperature, "system_instruction": ask.prompt}
    return {name: value for name, value in values.items() if value is not None}


def _anthropic(service: Loaded, access: Access, ask: LlmRequest) -> Loaded:
    client = {}
    if access.url:
        client["client"] = load("anthropic:AsyncAnthropic", accounts.ANTHROPIC)(api_key=access.key, base_url=access.url)
    settings = settings_of(service, ask.entry, model=ask.model, enable_prompt_caching=True, **_given(ask))
    return service(api_key=access.key, **client, settings=settings)


def _aws(service: Loaded, access: Access, ask: LlmRequest) -> Loaded:
    return service(
        aws_access_key=access.values.get("AWS_ACCESS_KEY_ID"),
        aws_secret_key=access.values.get("AWS_SECRET_ACCESS_KEY"),
        aws_session_token=access.values.get("AWS_SESSION_TOKEN"),
        aws_region=access.values["AWS_REGION"],
        settings=settings_of(service, ask.entry, model=ask.model, **_given(ask)),
    )


def _cohere(service: Loaded, access: Access, ask: LlmRequest) -> Loaded:
    at = access if access.url else Access(_COHERE_URL, access.values, access.key)
    return _chat_completions(service, at, ask)


def _google(service: Loaded, access: Access, ask: LlmRequest) -> Loaded:
    options = {}
    if access.url:
        options["http_options"] = load("google.genai.types:HttpOptions", accounts.GOOGLE)(base_url=access.url)
    settings = settings_of(service, ask.entry, model=ask.model, **_given(ask))
    return service(api_key=access.key, **options, settings=settings)


def _openai(service: Loaded, access: Access, ask: LlmRequest) -> Loaded:
    if access.url:
        service = load("switchboard_engine.providers.compatible:CompatibleLLMService", accounts.OPENAI)
    return _chat_completions(service, access, ask)


LLM: Mapping[str, LlmVendor] = {
    "anthropic": LlmVendor(accounts.ANTHROPIC, "pipecat.services.anthropic.llm:AnthropicLLMService", _anthropic),
    "aws": LlmVendor(accounts.AWS, "pipecat.services.aws.llm:AWSBedrockLLMService", _aws),
    "cohere": LlmVendor(accounts.COHERE, "switchboard_engine.providers.compatible:CohereLLMService", _cohere),
    "google": LlmVendor(accounts.GOOGLE, "pipecat.services.google.llm:GoogleLLMService", _google),
    "groq": LlmVendor(accounts.GROQ, "pipecat.services.groq.llm:GroqLLMService", _chat_completions),
    "mistral": LlmVendor(accounts.MISTRAL, "pipecat.services.mistral.llm:MistralLLMService", _chat_completions),
    "openai": LlmVendor(accounts.OPENAI, "pipecat.services.openai.llm:OpenAILLMService", _openai),
    "qwen": LlmVendor(accounts.QWEN, "pipecat.services.qwen.llm:QwenLLMService", _chat_completions),
    "together": LlmVendor(accounts.TOGETHER, "pipecat.services.together.llm:TogetherLLMService", _chat_completions),
    "xai": LlmVendor(accounts.XAI, "pipecat.services.xai.llm:GrokLLMService", _chat_completions),
}


def llm_vendor(entry: Entry) -> LlmVendor:
    """Return the row of an entry's vendor; raises `ProviderError` for one that has none."""
    if entry.vendor not in LLM:
        raise ProviderError(f"No language model of the vendor {entry.vendor}; there are {', '.join(LLM)}.")
    return LLM[entry.vendor]


def build_llm(ask: LlmRequest, environment: Mapping[str, str]) -> LLMService[Any]:
    """Make the language model; raises `ProviderError`."""
    vendor = llm_vendor(ask.entry)
    reached = accounts.access(vendor.account, Kind.LLM, ask.entry.engine, environment)
    built: LLMService[Any] = vendor.build(load(vendor.service, vendor.account), reached, ask)
    return built
