"""Checks of trunks, which a user asks for: carried out a few at a time, and answered by their steps."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from .backoff import Backoff, persist
from .errors import ServiceError
from .service import Service
from .timing import Timing
from .wire import Json, Telephony, entries, integer, mapping, text

_log = logging.getLogger(__name__)

WAITING_MAX = 32
"""Most checks that wait or run; beyond, they are answered at once."""
DETAIL_MAX = 200
"""Most characters of a step's detail."""
RUNNING_MAX = 4
"""Most checks that run at a time: what the service lets an account have under way."""
TURN_SECONDS = 6.0
"""How long a check waits for those before it."""
CHECK_SECONDS = 15.0
"""How long a check may take; each of its steps is bounded by whoever carries it out."""
ANSWER_SECONDS = 4.0
"""How long an answer is tried again. The three together are less than the 30 s that the service waits."""


StepName = Literal["resolve", "reach", "register"]


@dataclass(frozen=True, slots=True)
class CheckStep:
    """What came of one step; `detail` is a short sentence for the user, without a password."""

    name: StepName
    ok: bool
    detail: str

    def members(self) -> dict[str, str | bool]:
        """Return it as JSON."""
        return {"name": self.name, "ok": self.ok, "detail": self.detail[:DETAIL_MAX]}


TrunkCheck = Callable[[Telephony], Awaitable[Sequence[CheckStep]]]
"""Checks a trunk; an exception is answered as a failure without details."""


class Checks:
    """Carries out the checks that claims bring."""

    def __init__(self, service: Service, timing: Timing) -> None:
        self.check: TrunkCheck | None = None
        """By which trunks are checked; None: not at all."""
        self._service = service
        self._timing = timing
        self._turn = asyncio.Semaphore(RUNNING_MAX)
        self._running: dict[int | str, asyncio.Task[None]] = {}

    @property
    def tasks(self) -> tuple["asyncio.Task[None]", ...]:
        """The checks that are not answered yet."""
        return tuple(self._running.values())

    def receive(self, answer: Json) -> None:
        """Begin the checks that a claim brought; one that comes again meanwhile is the same."""
        for entry in entries(answer, "checks"):
            check_id = integer(entry, "id") or text(entry, "id")
            if check_id is None or check_id in self._running:
                continue
            steps = (
                self._steps(Telephony.read(mapping(entry, "trunk"))) if len(self._running) < WAITING_MAX else _busy()
            )
            self._running[check_id] = asyncio.create_task(self._answer(check_id, steps), name=f"check {check_id}")

    async def _answer(self, check_id: int | str, steps: Awaitable[Sequence[CheckStep]]) -> None:
        try:
            await self._tell(check_id, await steps)
        finally:
            del self._running[check_id]

    async def _tell(self, check_id: int | str, steps: Sequence[CheckStep]) -> None:
        body = {"steps": [step.members() for step in steps]}
        path = f"/engine/checks/{quote(str(check_id), safe='')}"

        async def attempt() -> Json:
            return await self._service.post(path, body, timeout=min(self._timing.answer, ANSWER_SECONDS))

        backoff = Backoff(self._timing.backoff_first, self._timing.backoff_most)
        try:
            await persist(attempt, backoff, ANSWER_SECONDS)
        except ServiceError as error:
            _log.warning("what came of the check %s of a trunk was not taken: %s", check_id, error)

    async def _steps(self, trunk: Telephony) -> Sequence[CheckStep]:
        if self.check is None:
            return _not_tried("this engine checks no trunks")
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self._turn.acquire()
        except TimeoutError:
            return await _busy()
        try:
            async with asyncio.timeout(CHECK_SECONDS) as limit:
                return await self.check(trunk)
        except Exception:
            _log.exception("trunk %s could not be checked", trunk.trunk_id)
            if limit.expired():
                return _not_tried(f"the check took longer than {CHECK_SECONDS:.0f} s; try again in a minute")
            return _not_tried("the check failed in the engine, whose log says why")
        finally:
            self._turn.release()


async def _busy() -> Sequence[CheckStep]:
    return _not_tried("the engine is busy with other checks; try again in a minute")


def _not_tried(why: str) -> Sequence[CheckStep]:
    return (CheckStep("resolve", ok=False, detail=f"not tried: {why}"),)
