"""Background sound: a loop under everything that the customer hears, and music while they wait.

The sounds are made here, of shaped noise, so that none needs a licence or a file. A folder named by
`SWITCHBOARD_ENGINE_SOUNDS` may hold better ones: `office.wav` and so on, mono, 16 bit.
"""

import os
import wave
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pipecat.audio.mixers.base_audio_mixer import BaseAudioMixer
from pipecat.frames.frames import MixerControlFrame

from ..legs.resample import Resampler
from .settings import Ambience

FOLDER_VARIABLE = "SWITCHBOARD_ENGINE_SOUNDS"
SOUNDS = ("office", "city", "forest", "crowded_room", "cafe", "nature")
LOOP_S = 12
LOOP_BYTES_MAX = 48_000 * 2 * 300
"""Longest sound of the folder: five minutes at 48 kHz."""
_LEVEL = 0.08
"""Of full scale, at volume 1: well below speech."""

Signal = npt.NDArray[np.float64]


class BackgroundMixer(BaseAudioMixer):
    """Mixes a loop, or music while the customer waits, under the sound of a line."""

    def __init__(self, ambience: Ambience | None) -> None:
        """Play `ambience`, None for none until `music`."""
        self._ambience = ambience
        self._music: Ambience | None = None
        self._hz = 0
        self._at = 0

    async def start(self, sample_rate: int) -> None:
        """Learn the rate of the line."""
        self._hz = sample_rate

    async def stop(self) -> None:
        """Do nothing: the loops are shared."""

    async def process_frame(self, frame: MixerControlFrame) -> None:
        """Ignore Pipecat's controls: `music` is the only one."""

    def music(self, volume: float | None) -> None:
        """Play music at a volume of 0 to 1; None ends it."""
        self._music = None if volume is None else Ambience("hold_music", volume)
        self._at = 0

    async def mix(self, audio: bytes) -> bytes:
        """Return the sound with the loop under it."""
        playing = self._music or self._ambience
        if playing is None or not self._hz:
            return audio
        loop = sound(playing.sound, self._hz)
        samples = np.frombuffer(audio, dtype=np.int16).astype(np.float64)
        places = (self._at + np.arange(len(samples))) % len(loop)
        self._at = (self._at + len(samples)) % len(loop)
        mixed = samples + loop[places] * playing.volume
        return np.clip(mixed, -32_768, 32_767).astype(np.int16).tobytes()


@lru_cache(maxsize=32)
def sound(name: str, hz: int) -> Signal:
    """Return a loop, in units of 16-bit samples at volume 1; raises `ValueError` for a name that is not known."""
    own = _own(name, hz)
    if own is not None:
        return own
    if name not in _MADE:
        message = f"There is no sound {name}; known are {', '.join(SOUNDS)}."
        raise ValueError(message)
    signal = _MADE[name](hz, np.random.default_rng(len(name)))
    return np.asarray(signal * (_LEVEL * 32_767 / max(1e-9, float(np.sqrt(np.mean(signal**2))) * 3)))


def _own(name: str, hz: int) -> Signal | None:
    """Return the operator's sound of this name."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder) / f"{name}.wav" if folder else None
    if path is None or not path.is_file() or path.stat().st_size > LOOP_BYTES_MAX:
        return None
    with wave.open(str(path), "rb") as file:
        if file.getnchannels() != 1 or file.getsampwidth() != 2:  # noqa: PLR2004 - mono, 16 bit
            message = f"{path} is not mono, 16 bit."
            raise ValueError(message)
        pcm = Resampler(file.getframerate(), hz).process(file.readframes(file.getnframes()))
    return np.frombuffer(pcm, dtype=np.int16).astype(np.float64)


def _noise(hz: int, random: np.random.Generator, low_hz: float, high_hz: float, tilt: float) -> Signal:
    """Return noise between two frequencies whose amplitude falls with the frequency's power `tilt`; it loops."""
    count = hz * LOOP_S
    frequencies = np.fft.rfftfreq(count, 1 / hz)
    shape = np.where((frequencies >= low_hz) & (frequencies <= min(high_hz, hz / 2)), 1.0, 0.0)
    shape[1:] /= frequencies[1:] ** tilt
    spectrum = shape * np.exp(2j * np.pi * random.random(len(frequencies)))
    signal = np.fft.irfft(spectrum, count)
    return np.asarray(signal / np.sqrt(np.mean(signal**2)))


def _swells(hz: int, random: np.random.Generator, a_second: float) -> Signal:
    """Return a slow rise and fall of loudness, as of many voices."""
    return np.abs(_noise(hz, random, 0.05, a_second, 0.0)) ** 1.5


def _voices(hz: int, random: np.random.Generator, voices: int) -> Signal:
    """Return a murmur: bands of speech, each with the rhythm of syllables."""
    bands = [(200 + 90 * n, 700 + 220 * n) for n in range(voices)]
    murmur: Signal = np.sum([_noise(hz, random, *band, 1.0) * _swells(hz, random, 4.0) for band in bands], axis=0)
    return murmur


def _events(hz: int, random: np.random.Generator, count: int, make: Callable[[], Signal]) -> Signal:
    """Return short sounds at random places."""
    signal = np.zeros(hz * LOOP_S)
    for _ in range(count):
        event = make()
        at = int(random.integers(0, len(signal) - len(event)))
        signal[at : at + len(event)] += event * random.uniform(0.3, 1.0)
    return signal


def _chirp(hz: int, random: np.random.Generator) -> Signal:
    at = np.arange(int(hz * 0.12)) / hz
    base = random.uniform(1_800, 3_200)
    return np.sin(2 * np.pi * (base * at + 4_000 * at**2)) * np.hanning(len(at))


def _click(hz: int, random: np.random.Generator) -> Signal:
    at = np.arange(int(hz * 0.02)) / hz
    return np.asarray(random.standard_normal(len(at)) * np.exp(-at * 250))


def _clink(hz: int, random: np.random.Generator) -> Signal:
    at = np.arange(int(hz * 0.25)) / hz
    return np.sin(2 * np.pi * random.uniform(1_900, 3_000) * at) * np.exp(-at * 18)


def _office(hz: int, random: np.random.Generator) -> Signal:
    return (
        _noise(hz, random, 60, 900, 0.8)
        + 0.5 * _voices(hz, random, 2)
        + _events(hz, random, 40, lambda: _click(hz, random))
    )


def _city(hz: int, random: np.random.Generator) -> Signal:
    traffic = _noise(hz, random, 40, 600, 1.0) * (0.6 + _swells(hz, random, 0.4))
    return traffic + 0.2 * _noise(hz, random, 500, 3_000, 0.5)


def _forest(hz: int, random: np.random.Generator) -> Signal:
    wind = _noise(hz, random, 200, 3_000, 0.7) * (0.3 + _swells(hz, random, 0.3))
    return wind + 2.0 * _events(hz, random, 14, lambda: _chirp(hz, random))


def _nature(hz: int, random: np.random.Generator) -> Signal:
    stream = _noise(hz, random, 400, 3_500, 0.3) * (0.5 + _swells(hz, random, 2.0))
    return stream + _events(hz, random, 6, lambda: _chirp(hz, random))


def _crowded_room(hz: int, random: np.random.Generator) -> Signal:
    return _voices(hz, random, 6) + 0.3 * _noise(hz, random, 60, 500, 0.8)


def _cafe(hz: int, random: np.random.Generator) -> Signal:
    return _voices(hz, random, 4) + 1.5 * _events(hz, random, 16, lambda: _clink(hz, random))


def _hold_music(hz: int, _: np.random.Generator) -> Signal:
    """Return a calm turn of four chords, two seconds each and a pause."""
    chords = ((261.6, 329.6, 392.0), (220.0, 261.6, 329.6), (174.6, 220.0, 261.6), (196.0, 246.9, 293.7))
    at = np.arange(hz * 2) / hz
    envelope = np.minimum(1.0, at * 8) * np.exp(-at * 0.9)
    bars = [np.sum([np.sin(2 * np.pi * note * at) for note in chord], axis=0) * envelope for chord in chords]
    return np.concatenate([*bars, np.zeros(hz)])


_MADE: dict[str, Callable[[int, np.random.Generator], Signal]] = {
    "office": _office,
    "city": _city,
    "forest": _forest,
    "nature": _nature,
    "crowded_room": _crowded_room,
    "cafe": _cafe,
    "hold_music": _hold_music,
}
