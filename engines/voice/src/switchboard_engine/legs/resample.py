"""Changes of sample rate that cost 1.5 ms.

Pipecat's own resampler (soxr, any of its better qualities) holds 60 to 115 ms of a live stream back, measured with
20 ms frames at 8 and 16 kHz: more than everything else that a leg does. A telephone's rates are small multiples of
each other, so a short linear-phase filter does.
"""

from math import gcd

import numpy as np
import numpy.typing as npt
import soxr

_TAPS_A_PHASE = 24  # delay: half of it at the lower rate, 1.5 ms at 8 kHz
_KAISER_BETA = 6.0  # about 60 dB of stop band, passes to 3.4 kHz of 8 kHz
_FACTOR_MAX = 6  # 48 kHz to 8 kHz; others, such as 22.05 kHz, are left to soxr


class Resampler:
    """A stream of signed 16-bit mono samples from one rate to another; keeps its state between chunks."""

    def __init__(self, source_hz: int, target_hz: int) -> None:
        """Prepare the filter. Rates in samples a second."""
        self.source_hz, self.target_hz = source_hz, target_hz
        common = gcd(source_hz, target_hz)
        self._up, self._down = target_hz // common, source_hz // common
        self._soxr: soxr.ResampleStream | None = None
        if max(self._up, self._down) > _FACTOR_MAX:
            self._soxr = soxr.ResampleStream(source_hz, target_hz, 1, dtype="int16", quality="QQ")
            return
        factor = max(self._up, self._down)
        taps = np.arange(_TAPS_A_PHASE * factor + 1) - _TAPS_A_PHASE * factor / 2
        self._filter = np.sinc(taps / factor) * np.kaiser(len(taps), _KAISER_BETA) / factor * self._up
        self.reset()

    def reset(self) -> None:
        """Forget the stream, after a pause or an interruption."""
        if self._soxr is not None:
            self._soxr.clear()
            return
        self._history: npt.NDArray[np.float64] = np.zeros(len(self._filter) - 1)
        self._phase = 0

    def process(self, pcm: bytes) -> bytes:
        """Convert the next chunk, of whole samples."""
        if self.source_hz == self.target_hz or not pcm:
            return pcm
        samples = np.frombuffer(pcm, dtype=np.int16)
        if self._soxr is not None:
            return bytes(self._soxr.resample_chunk(samples).tobytes())
        stuffed = np.zeros(len(samples) * self._up)
        stuffed[:: self._up] = samples
        window = np.concatenate((self._history, stuffed))
        self._history = window[len(stuffed) :]
        filtered = np.convolve(window, self._filter, "valid")
        kept = filtered[self._phase :: self._down]
        self._phase = (self._phase - len(filtered)) % self._down
        return np.clip(np.rint(kept), -32768, 32767).astype(np.int16).tobytes()
