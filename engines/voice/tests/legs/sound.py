"""Sounds for the tests: tones, PCMU (ITU-T G.711), and what tells one tone from another."""

import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt

HZ = 8000
FRAME = HZ // 50
AUDIBLE = 200
RECOGNISED = 0.6  # of the energy at its frequency: a tone in which a busy machine made a hole still has so much
Samples = npt.NDArray[np.int16]


def tone(frequency_hz: float, seconds: float, rate: int = HZ, amplitude: float = 8000.0) -> Samples:
    """Return a sine."""
    at = np.arange(int(seconds * rate)) / rate
    return (amplitude * np.sin(2 * np.pi * frequency_hz * at)).astype(np.int16)


def silence(seconds: float, rate: int = HZ) -> Samples:
    """Return nothing to hear."""
    return np.zeros(int(seconds * rate), dtype=np.int16)


def power(samples: Samples, frequency_hz: float, rate: int = HZ) -> float:
    """Return the share of the energy that lies at a frequency, 0 to 1: Goertzel's sum."""
    signal = samples.astype(np.float64)
    energy = float(np.sum(signal**2))
    if not energy:
        return 0.0
    turn = np.exp(-2j * np.pi * frequency_hz / rate * np.arange(len(signal)))
    return float(2 * abs(np.dot(signal, turn)) ** 2 / (len(signal) * energy))


def usual_power(samples: Samples, frequency_hz: float, rate: int = HZ) -> float:
    """Return the median of the power in pieces of 50 ms: one that a busy machine stretched or cut does not count."""
    size = rate // 20
    pieces = [power(samples[at : at + size], frequency_hz, rate) for at in range(0, len(samples) - size + 1, size)]
    return float(np.median(pieces)) if pieces else 0.0


def audible(samples: Samples) -> Samples:
    """Return the part from the first to the last sample that can be heard."""
    loud = np.flatnonzero(np.abs(samples.astype(np.int32)) > AUDIBLE)
    return samples[loud[0] : loud[-1] + 1] if len(loud) else samples[:0]


def loudness(samples: Samples) -> float:
    """Return the root mean square, of 32767 at most."""
    return float(np.sqrt(np.mean(samples.astype(np.float64) ** 2))) if len(samples) else 0.0


def _decoding_table() -> Samples:
    codes = ~np.arange(256) & 0xFF
    magnitude = (((codes & 0x0F) << 3) + 0x84) << ((codes & 0x70) >> 4)
    return np.where(codes & 0x80, 0x84 - magnitude, magnitude - 0x84).astype(np.int16)


_DECODED = _decoding_table()
_ORDER = np.argsort(_DECODED, kind="stable")
_SORTED = _DECODED[_ORDER].astype(np.int32)


def decode_pcmu(payload: bytes) -> Samples:
    """Return the samples of a PCMU payload."""
    return _DECODED[np.frombuffer(payload, dtype=np.uint8)]


def encode_pcmu(samples: Samples) -> bytes:
    """Return the PCMU payload whose decoding lies nearest to the samples."""
    values = samples.astype(np.int32)
    above = np.clip(np.searchsorted(_SORTED, values), 1, 255)
    nearer = np.where(values - _SORTED[above - 1] < _SORTED[above] - values, above - 1, above)
    return _ORDER[nearer].astype(np.uint8).tobytes()


def read_wav(path: Path) -> Samples:
    """Return the samples of a mono 16-bit file at 8 kHz."""
    with wave.open(str(path), "rb") as file:
        if (file.getnchannels(), file.getsampwidth(), file.getframerate()) != (1, 2, HZ):
            raise ValueError(f"{path} is not mono, 16 bit, 8 kHz")
        return np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16)
