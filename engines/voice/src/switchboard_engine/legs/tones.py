"""DTMF as sound (ITU-T Q.23), for lines that carry no telephone events outward."""

import numpy as np

KEY_MS = 100
PAUSE_MS = 100
_AMPLITUDE = 8_000
_ROWS, _COLUMNS = (697, 770, 852, 941), (1209, 1336, 1477, 1633)
_KEYS = "123A456B789C*0#D"


def keys(digits: str, sample_hz: int) -> bytes:
    """Return the sound of keys, each 100 ms and a pause as long, 16-bit mono.

    Raises:
        ValueError: a character is no key.
    """
    at = np.arange(sample_hz * KEY_MS // 1000) / sample_hz
    pause = np.zeros(sample_hz * PAUSE_MS // 1000)
    parts = []
    for digit in digits.upper():
        place = _KEYS.find(digit)
        if place < 0:
            raise ValueError(f"{digit!r} is not a DTMF digit")
        row, column = _ROWS[place // 4], _COLUMNS[place % 4]
        parts += [_AMPLITUDE * (np.sin(2 * np.pi * row * at) + np.sin(2 * np.pi * column * at)), pause]
    return b"".join(part.astype(np.int16).tobytes() for part in parts)
