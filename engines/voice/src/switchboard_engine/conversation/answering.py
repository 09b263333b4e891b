"""Who or what picked up an outbound call: a person, a voicemail, a call screening, or a menu.

What is understood in the first moments decides, by phrases that greetings of machines have; what they do not decide is
put to the language model, once. A person hears the greeting without delay meanwhile: nothing waits for the verdict.
"""

import re
from collections.abc import Awaitable, Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

Kind = Literal["person", "voicemail", "screening", "menu"]
Judge = Callable[[str], Awaitable[Kind | None]]

WATCHED_S = 25.0
"""How long after the answer a machine may turn out to be one."""
LINES_MAX = 4
"""Lines of the customer after which it is a person."""
LONG_WORDS = 18
"""Words of a first line that few people say in one breath."""

_VOICEMAIL = re.compile(
    r"\b(voice ?mail|mail ?box|answering machine|leave (me |us |your |a )*(message|name)|"
    r"after the (tone|beep)|at the tone|(not|un) ?available( right now| to take)|"
    r"can(no|')t (take|come to|get to) (your call|the phone)|"
    r"you('ve| have)? reached|record your message|"
    r"mailbox|anrufbeantworter|nachricht (nach|hinterlassen)|nach dem (ton|signalton|piep)\w*|zurzeit nicht erreichbar|"
    r"messagerie|boîte vocale|laissez(-moi)? (un|votre) message|après le (bip|signal)|"
    r"buzón|deje (su|un) mensaje|después (del tono|de la señal)|"
    r"segreteria|lasciate? un messaggio|dopo il (bip|segnale))",
    re.IGNORECASE,
)
_SCREENING = re.compile(
    r"\b(call(s| is|er)? (being )?screen\w*|call assist\w*|(record|state|say) your name( and)?|who('s| is) calling|"
    r"reason for (your call|calling)|before I try to connect|see if (this person|they) (is|are) available)",
    re.IGNORECASE,
)
_MENU = re.compile(
    r"\b(press|dial|push) (\d|one|two|three|four|five|zero|star|pound)|for (sales|support|service)\b.*\bpress|"
    r"main menu|following options|drücken sie|wählen sie|appuyez sur|tapez|pulse|marque|prema|digiti",
    re.IGNORECASE,
)
Samples = npt.NDArray[np.int16]
QUESTION = (
    "A program has placed a telephone call and hears this after the answer. Reply with one word: `person` if a human "
    "speaks live, `voicemail` for the greeting of a mailbox or an answering machine, `screening` for an assistant that "
    "asks who is calling, `menu` for a recorded menu that wants a key or a choice."
)


def kind_of(said: str) -> Kind | None:
    """Return what a greeting's phrases give away; None where they give nothing away."""
    for kind, pattern in _PATTERNS:
        if pattern.search(said):
            return kind
    return None


_PATTERNS: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    ("screening", _SCREENING),
    ("voicemail", _VOICEMAIL),
    ("menu", _MENU),
)


class Answering:
    """Decides on what was said; each verdict is told once, and a machine's is the last."""

    def __init__(self, judge: Judge | None) -> None:
        """Ask `judge` about long lines that no phrase decides."""
        self.verdict: Kind | None = None
        self._judge = judge
        self._lines = 0
        self._said: list[str] = []

    @property
    def is_over(self) -> bool:
        """Whether nothing is to be found out any more."""
        return self.verdict in ("voicemail", "menu") or self._lines >= LINES_MAX

    async def said(self, text: str) -> Kind | None:
        """Take a line of the other side; returns a verdict that is new, None where there is none."""
        if self.is_over:
            return None
        self._lines += 1
        self._said.append(text)
        kind = kind_of(text) or kind_of(" ".join(self._said))
        if kind is None and self._judge is not None and len(text.split()) >= LONG_WORDS:
            kind = await self._judge(" ".join(self._said))
        return self._note(kind or "person")

    def partly(self, text: str) -> Kind | None:
        """Take a part of a line: only a machine is recognised in the middle of one."""
        kind = None if self.is_over else kind_of(text)
        return None if kind is None else self._note(kind)

    def _note(self, kind: Kind) -> Kind | None:
        if kind == self.verdict or (kind == "person" and self.verdict is not None):
            return None
        self.verdict = kind
        return kind


class BeepDetector:
    """Hears the tone after which a voicemail records: one steady frequency of 400 to 2,000 Hz for some 150 ms."""

    WINDOW_MS = 20
    WINDOWS = 7
    _LEAST_HZ, _MOST_HZ = 400.0, 2_000.0
    _SHARE = 0.85
    """Of the energy of a window that lies at its strongest frequency."""
    _LOUD = 300.0
    _STEADY_HZ = 60.0

    def __init__(self, sample_hz: int) -> None:
        """Listen to 16-bit mono sound."""
        self._hz = sample_hz
        self._size = sample_hz * self.WINDOW_MS // 1000
        self._window = np.hanning(self._size)
        self._rest = np.zeros(0, dtype=np.int16)
        self._steady = 0
        self._frequency = 0.0

    def heard(self, pcm: bytes) -> bool:
        """Take sound; returns whether a beep has been heard in it."""
        samples = np.concatenate((self._rest, np.frombuffer(pcm, dtype=np.int16)))
        count = len(samples) // self._size
        beeps = [self._take(samples[at * self._size : (at + 1) * self._size]) for at in range(count)]
        self._rest = samples[count * self._size :]
        return any(beeps)

    def _take(self, samples: Samples) -> bool:
        frequency = self._tone(samples)
        if frequency is None:
            self._steady = 0
        elif self._steady and abs(frequency - self._frequency) > self._STEADY_HZ:
            self._steady, self._frequency = 1, frequency
        else:
            self._steady, self._frequency = self._steady + 1, frequency
        return self._steady >= self.WINDOWS

    def _tone(self, samples: Samples) -> float | None:
        """Return the frequency of a window that is hardly anything but one tone."""
        signal = samples.astype(np.float64)
        if np.sqrt(np.mean(signal**2)) < self._LOUD:
            return None
        energy = np.abs(np.fft.rfft(signal * self._window)) ** 2
        peak = int(np.argmax(energy))
        frequency = peak * self._hz / self._size
        if not self._LEAST_HZ <= frequency <= self._MOST_HZ:
            return None
        share = energy[max(0, peak - 2) : peak + 3].sum() / energy.sum()
        return frequency if share >= self._SHARE else None
