"""Removes noise from what the customer says, before anything listens to it."""

from importlib.util import find_spec

from pipecat.audio.filters.base_audio_filter import BaseAudioFilter

PACKAGE = "pyrnnoise"
"""The package that does it; without it noise is left in."""


def available() -> bool:
    """Return whether the package is installed."""
    return find_spec(PACKAGE) is not None


def noise_filter() -> BaseAudioFilter | None:
    """Return a filter for one line; None where the package is not installed."""
    if not available():
        return None
    from pipecat.audio.filters.rnnoise_filter import RNNoiseFilter  # noqa: PLC0415 - it needs the package

    return RNNoiseFilter()
