"""Whose turn it is: when the customer's begins, whether it interrupts the assistant, and when it ends."""

import time
from collections.abc import Callable

from pipecat.audio.turn.smart_turn.base_smart_turn import SmartTurnParams
from pipecat.audio.turn.smart_turn.local_smart_turn_v3 import LocalSmartTurnAnalyzerV3
from pipecat.audio.vad.silero import SileroVADAnalyzer
from pipecat.audio.vad.vad_analyzer import VADParams
from pipecat.frames.frames import (
    BotStartedSpeakingFrame,
    BotStoppedSpeakingFrame,
    Frame,
    InterimTranscriptionFrame,
    TranscriptionFrame,
    VADUserStartedSpeakingFrame,
)
from pipecat.turns.types import ProcessFrameResult
from pipecat.turns.user_start import BaseUserTurnStartStrategy
from pipecat.turns.user_stop import (
    BaseUserTurnStopStrategy,
    SpeechTimeoutUserTurnStopStrategy,
    TurnAnalyzerUserTurnStopStrategy,
)
from pipecat.turns.user_turn_strategies import UserTurnStrategies

from .settings import TurnSettings

VAD_STOP_MS = 200
"""Silence after which speech counts as over; what `stop_ms` has beyond is waited for afterwards."""
MODEL_PATIENCE_S = 3.0
"""Silence that ends a turn whatever the turn model thinks."""
GREETING_WORDS = 3
"""Words that interrupt the beginning of a greeting."""
GREETING_S = 2.0
"""How long the beginning of a greeting is."""
UNHEARD_S = 3.0
"""How long a turn waits for its transcript."""
_IDEOGRAPHS_A_WORD = 2


def words(said: str) -> int:
    """Count words; of a script without spaces, two characters count as one."""
    ideographs = sum("\u3040" <= character <= "\u9fff" or "\u0e00" <= character <= "\u0eff" for character in said)
    return len(said.split()) if ideographs < len(said) / 2 else -(-ideographs // _IDEOGRAPHS_A_WORD)


class TurnStart(BaseUserTurnStartStrategy):  # type: ignore[no-untyped-call]
    """Begins the customer's turn: with speech, but while the assistant speaks only with enough words."""

    def __init__(
        self, min_words: int, *, interruptible: bool, greets: bool = False, now: Callable[[], float] = time.monotonic
    ) -> None:
        """With `min_words` 0 any speech interrupts; not `interruptible`, none does, and it is answered afterwards.

        Where the assistant `greets`, the "hello?" of somebody who picks up does not cut the greeting off: in its first
        `GREETING_S` it takes `GREETING_WORDS` to interrupt.
        """
        super().__init__(enable_interruptions=interruptible)
        self._min_words = min_words if interruptible else 0
        self._greets = interruptible and greets
        self._greets_until: float | None = None
        self._now = now
        self._bot_speaks = False
        self._held = False

    async def handle_user_turn_started(self) -> None:
        """Forget what was held back: the turn has begun."""
        self._held = False

    async def process_frame(self, frame: Frame) -> ProcessFrameResult:
        """Look for the beginning of a turn."""
        if isinstance(frame, BotStartedSpeakingFrame):
            self._bot_speaks = True
            if self._greets_until is None:
                self._greets_until = self._now() + GREETING_S * self._greets
        elif isinstance(frame, BotStoppedSpeakingFrame):
            self._bot_speaks = False
            if self._greets_until is not None:
                self._greets_until = self._now()
            if self._held:
                return await self._begin()
        elif isinstance(frame, VADUserStartedSpeakingFrame):
            if not self._bot_speaks or not self._words:
                return await self._begin()
            self._held = True
        elif isinstance(frame, TranscriptionFrame | InterimTranscriptionFrame) and frame.text.strip():
            if not self._bot_speaks or words(frame.text) >= max(1, self._words):
                return await self._begin()
            if isinstance(frame, TranscriptionFrame):
                # Too little to interrupt, such as "mhm": it is not the beginning of an answer either.
                self._held = False
                await self.trigger_reset_aggregation()  # type: ignore[no-untyped-call]
                return ProcessFrameResult.STOP
        return ProcessFrameResult.CONTINUE

    @property
    def _words(self) -> int:
        """Words that interrupt at the moment; 0: speech alone does."""
        greets = self._greets_until is not None and self._now() < self._greets_until
        return max(self._min_words, GREETING_WORDS) if greets else self._min_words

    async def _begin(self) -> ProcessFrameResult:
        await self.trigger_user_turn_started()
        return ProcessFrameResult.STOP


def vad(settings: TurnSettings) -> SileroVADAnalyzer:
    """Load the voice activity detection; takes some 80 ms, so call it beside the event loop."""
    analyzer = SileroVADAnalyzer(
        params=VADParams(start_secs=settings.start_ms / 1000, stop_secs=min(settings.stop_ms, VAD_STOP_MS) / 1000)
    )
    # Speech must be loud enough, over a window of 400 ms. Pipecat smooths that once more: on a line that was silent,
    # speech then counts from 100 to 200 ms later than it began, and a short word is none.
    analyzer._smoothing_factor = 1.0
    return analyzer


def turn_model(settings: TurnSettings) -> LocalSmartTurnAnalyzerV3 | None:
    """Load the turn model where the settings ask for it; takes as long as `vad`."""
    if not settings.by_model:
        return None
    return LocalSmartTurnAnalyzerV3(params=SmartTurnParams(stop_secs=MODEL_PATIENCE_S))


def strategies(settings: TurnSettings, model: LocalSmartTurnAnalyzerV3 | None, *, greets: bool) -> UserTurnStrategies:
    """Return how turns begin and end."""
    start: list[BaseUserTurnStartStrategy] = [
        TurnStart(settings.min_words, interruptible=settings.interruptible, greets=greets)
    ]
    stop: list[BaseUserTurnStopStrategy]
    if model is not None:
        stop = [TurnAnalyzerUserTurnStopStrategy(turn_analyzer=model)]
    else:
        pause_s = max(0, settings.stop_ms - VAD_STOP_MS) / 1000
        stop = [SpeechTimeoutUserTurnStopStrategy(user_speech_timeout=pause_s)]
    return UserTurnStrategies(start=start, stop=stop)
