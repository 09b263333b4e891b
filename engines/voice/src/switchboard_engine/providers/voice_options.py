"""What an assistant says of its voice, beside which one it is (docs/api.md, Creating an assistant)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from ..services import ProviderError

SPEED, STABILITY, SIMILARITY, EMOTION = "speech_speed", "voice_stability", "voice_similarity", "tts_emotion_enabled"
"""Names of the settings."""


@dataclass(frozen=True, slots=True)
class VoiceOptions:
    """Settings of the voice; the defaults are the service's."""

    speed: float = 1.0
    """Multiple of the voice's usual speed, 0.7 to 1.2."""
    stability: float = 0.70
    """How even it sounds, 0 to 1."""
    similarity: float = 0.50
    """How close it stays to the speaker it was made from, 0 to 1."""
    emotion: bool = True
    """Whether it may show emotion."""

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> Self:
        """Read them from an assistant, or any part of one; its numbers may be texts. `ProviderError` for no numbers."""
        usual = cls()
        return cls(
            speed=number(options, SPEED, usual.speed),
            stability=number(options, STABILITY, usual.stability),
            similarity=number(options, SIMILARITY, usual.similarity),
            emotion=bool(options.get(EMOTION, usual.emotion)),
        )

    @property
    def changed(self) -> frozenset[str]:
        """Names of the settings that are not at their defaults."""
        usual = VoiceOptions()
        pairs = {
            SPEED: self.speed != usual.speed,
            STABILITY: self.stability != usual.stability,
            SIMILARITY: self.similarity != usual.similarity,
            EMOTION: self.emotion != usual.emotion,
        }
        return frozenset(name for name, is_changed in pairs.items() if is_changed)


def number(options: Mapping[str, Any], name: str, default: float) -> float:
    """Return a number that may be a text; `default` where it is null or not there."""
    value = options.get(name)
    if value is None:
        return default
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise ProviderError(f"{name} is {value!r}; it must be a number.") from error
