"""The settings of an assistant that its conversation cannot carry out, by the names that the service knows."""

from collections.abc import Iterable

from ..client import Assistant
from ..client.wire import Json, entries, flag, number, text
from . import noise
from .functions import Functions
from .settings import ConversationSettings, built_in_tools

_BY_MODEL = {"endpoint_type": "vad", "endpoint_sensitivity": 0.5, "interrupt_sensitivity": 0.5}
"""What a speech-to-speech model decides itself, with the defaults that ask for nothing."""
_WARM_ONLY = ("connected_message", "custom_caller_id", "outbound_phone_id")
"""Members of a warm transfer that a REFER has no place for."""


def unsupported(
    assistant: Assistant, settings: ConversationSettings, of_vendors: Iterable[str], *, falls_back: bool = False
) -> list[str]:
    """Return the names, each once: what the engine cannot do, then what the vendors cannot.

    `falls_back`: the fallback model of a speech-to-speech assistant is there.
    """
    raw = assistant.raw
    names = _tools(assistant)
    if settings.cancels_noise and not noise.available():
        names.append("enable_noise_cancellation")
    if settings.mode == "pipeline":
        if raw.get("turn_detection_threshold") is not None:
            names.append("turn_detection_threshold")
    else:
        names += _of_models(raw, settings, falls_back=falls_back)
    return list(dict.fromkeys([*names, *of_vendors]))


def _tools(assistant: Assistant) -> list[str]:
    """Name the tools that are not offered, and members of others that have no effect."""
    kinds = [text(tool, "type") for tool in entries(assistant.raw, "tools")]
    names = [f"tools.{kind}" for kind in Functions.UNSUPPORTED if kind in kinds]
    for tool in built_in_tools(assistant, "warm_call_transfer"):
        names += [f"tools.warm_call_transfer.{name}" for name in _WARM_ONLY if tool.get(name) is not None]
        if (text(tool, "caller_id_mode") or "outbound_number") != "outbound_number":
            names.append("tools.warm_call_transfer.caller_id_mode")
    return names


def _of_models(raw: Json, settings: ConversationSettings, *, falls_back: bool) -> list[str]:
    names = [name for name, usual in _BY_MODEL.items() if raw.get(name) not in (None, usual)]
    if not flag(raw, "allow_interruptions", absent=True):
        names.append("allow_interruptions")
    if number(raw, "min_interrupt_words"):
        names.append("min_interrupt_words")
    if raw.get("chat_llm_fallback_id") is not None and not falls_back:
        names.append("chat_llm_fallback_id")
    if settings.fillers:
        names.append("fillers")
    if settings.waits_for_customer:
        names.append("wait_for_customer")
    return names
