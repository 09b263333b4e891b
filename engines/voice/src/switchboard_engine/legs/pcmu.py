"""PCMU (ITU-T G.711 mu-law): 16-bit samples as one byte each, as provider media streams carry them."""

import numpy as np
import numpy.typing as npt

_BIAS = 0x84
_CLIP = 32_635


def _decoding_table() -> npt.NDArray[np.int16]:
    codes = ~np.arange(256) & 0xFF
    magnitudes = (((codes & 0x0F) << 3) + _BIAS) << ((codes >> 4) & 7)
    return np.where(codes & 0x80, _BIAS - magnitudes, magnitudes - _BIAS).astype(np.int16)


_DECODED = _decoding_table()


def decode(payload: bytes) -> bytes:
    """Return the samples of a payload."""
    return _DECODED[np.frombuffer(payload, dtype=np.uint8)].tobytes()


def encode(pcm: bytes) -> bytes:
    """Return the payload of samples."""
    samples = np.frombuffer(pcm, dtype=np.int16).astype(np.int32)
    magnitudes = np.minimum(np.abs(samples), _CLIP) + _BIAS
    # The position of the highest bit, 7 to 14, is the segment: the exponent that frexp gives, less 8.
    segments = np.frexp(magnitudes.astype(np.float64))[1] - 8
    steps = (magnitudes >> (segments + 3)) & 0x0F
    codes = np.where(samples < 0, 0x80, 0) | segments << 4 | steps
    return bytes((~codes & 0xFF).astype(np.uint8).tobytes())
