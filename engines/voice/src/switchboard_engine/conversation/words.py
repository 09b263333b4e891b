"""Which words of a text were heard, by how long its sound was played.

Services that tell the time of each word need none of this. Of others only the texts and the sound are known, in their
order: the words are then spread over the sound by their lengths, at a pace that is learnt from what was said before.
"""

from collections import deque

CHARACTERS_A_SECOND = 15.0
_PACE_MIN, _PACE_MAX = 6.0, 40.0
_LEARNT = 0.5
"""Share of the newest utterance in the pace."""


class WordPace:
    """The words of what is being said, handed out as they are heard."""

    def __init__(self, characters_a_second: float = CHARACTERS_A_SECOND) -> None:
        """Begin with a pace for speech at normal speed."""
        self._pace = characters_a_second
        self._words: deque[tuple[str, bool]] = deque()
        """Words, and whether an interruption keeps them from being heard."""
        self._budget = 0.0
        self._announced = 0
        self._seconds = 0.0

    def announce(self, text: str, *, interruptible: bool = True) -> None:
        """Take a text that is about to be said; one that is not `interruptible` is heard whatever happens."""
        words = text.split()
        self._words.extend((word, interruptible) for word in words)
        self._announced += sum(len(word) + 1 for word in words)

    def played(self, seconds: float) -> list[str]:
        """Take the time that was played, and return the words that it made heard."""
        self._seconds += seconds
        self._budget += seconds * self._pace
        heard = []
        while self._words and self._budget >= len(self._words[0][0]) + 1:
            word, _ = self._words.popleft()
            self._budget -= len(word) + 1
            heard.append(word)
        return heard

    def finished(self) -> list[str]:
        """Return the rest: everything was played."""
        if self._seconds > 0.5 and self._announced:  # noqa: PLR2004 - shorter ones say little
            measured = min(max(self._announced / self._seconds, _PACE_MIN), _PACE_MAX)
            self._pace += _LEARNT * (measured - self._pace)
        heard = [word for word, _ in self._words]
        self._forget()
        return heard

    def interrupted(self) -> bool:
        """Forget what nobody will hear; return whether there was any."""
        kept = [(word, interruptible) for word, interruptible in self._words if not interruptible]
        cut = len(kept) < len(self._words)
        self._forget()
        self._words.extend(kept)
        self._announced = sum(len(word) + 1 for word, _ in kept)
        return cut

    def _forget(self) -> None:
        self._words.clear()
        self._budget, self._announced, self._seconds = 0.0, 0, 0.0
