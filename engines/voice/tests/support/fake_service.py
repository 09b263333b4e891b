"""The service's side of the engine interface over real connections, faithful and, where a test plans it, hostile."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from .fake_call import Answer, FakeCall

TOKEN = "engine-token-that-nobody-may-log"


class Fault(Enum):
    """What happens to a request instead of being answered."""

    NONE = "none"
    DROP_BEFORE = "the connection breaks, nothing is applied"
    DROP_AFTER = "applied, and the connection breaks"
    DROP_DURING = "the connection breaks while it is applied"
    APPLY_LATE = "the connection breaks, and it is applied a moment later"
    TRUNCATED = "applied, and the answer is half of its JSON"
    BUSY = "503 with Retry-After, nothing is applied"
    TOO_MANY = "429, nothing is applied"
    BROKEN = "500, nothing is applied"
    REDIRECT = "307 to elsewhere, nothing is applied"
    SLOW = "applied and answered late"


REFUSALS = {Fault.BUSY: 503, Fault.TOO_MANY: 429, Fault.BROKEN: 500, Fault.REDIRECT: 307}

Plan = Callable[[str, int], Fault]
"""Returns the fault of the n-th request (from 1) of a kind: claim, heartbeat, calls, events, tools, knowledge, …"""


def entry(call_id: int, **call: Any) -> dict[str, Any]:
    """Return a call to claim, with a fully equipped assistant."""
    return {
        "call": {
            "id": call_id,
            "type": "outbound",
            "status": "initiated",
            "client_phone_number": "+12025550001",
            "assistant_id": 7,
            "variables": {"customer_name": "Ada Park"},
            "created_at": "2026-01-31 14:05:09",
            "surprise": {"of": "a newer service"},
            **call,
        },
        "assistant": {
            "name": "Front desk",
            "mode": "pipeline",
            "prompt": "You answer.",
            "greeting": "Hello Ada Park.",
            "record": True,
            "voice": {"id": 3, "name": "Rachel", "code": "rachel", "engine": {"vendor": "x", "voice_id": "r"}},
            "functions": [{"name": "look_up", "parameters": {"type": "object"}, "kind": "tool", "timeout": 2}],
            "timings": {"ringing_time": 20, "max_duration": 300},
            "turns": {"strategy": "silence", "stop_ms": 200},
        },
        "telephony": {"kind": "sip", "trunk_id": 4, "dial": "0012025550001", "password": "secret of the trunk"},
        "lease": "2026-01-31T14:05:39.000000Z",
    }


def _kind(parts: list[str]) -> str:
    return "checks" if parts[1:2] == ["checks"] else parts[3] if len(parts) > 3 else parts[-1]


@dataclass
class FakeService:
    """A service with calls to claim; what it holds may be read and changed at any time."""

    plan: Plan = lambda _kind, _nth: Fault.NONE
    lease_seconds: float = 30.0
    protocol: int = 2
    parks_without_room: bool = True
    queue: deque[dict[str, Any]] = field(default_factory=deque)
    calls: dict[int, FakeCall] = field(default_factory=dict)
    wrongs: list[str] = field(default_factory=list)
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    lost: set[int] = field(default_factory=set)
    numbers: dict[str, int] = field(default_factory=lambda: {"+12025550100": 4})
    trunks: list[dict[str, Any]] = field(default_factory=list)
    trunk_version: int = 1
    drain: bool | None = None
    checks: list[dict[str, Any]] = field(default_factory=list)
    registrations: dict[int, tuple[str, str]] = field(default_factory=dict)
    checked: dict[int, list[dict[str, Any]]] = field(default_factory=dict)
    assistant: dict[str, Any] | None = None
    tool_answer: Answer = (200, {"status": 200, "body": "{}", "duration_ms": 3})
    tool_seconds: float = 0.0
    is_token_valid: bool = True
    url: str = ""
    _counts: dict[str, int] = field(default_factory=dict)
    _kept: dict[str, tuple[bytes, Answer]] = field(default_factory=dict)
    _keys_running: set[str] = field(default_factory=set)
    _by_external_id: dict[str, int] = field(default_factory=dict)
    _late: set[asyncio.Task[Any]] = field(default_factory=set)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=1 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.gather(*self._late)
        if self._runner is not None:
            await self._runner.cleanup()

    def offer(self, *call_ids: int, **call: Any) -> None:
        """Put calls into the queue."""
        self.queue.extend(entry(call_id, **call) for call_id in call_ids)
        self.wake()

    def wake(self) -> None:
        """Let parked requests look again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def ask_check(self, check_id: int, trunk: dict[str, Any]) -> None:
        """Have a trunk checked by the next engine that can."""
        self.checks.append({"id": check_id, "trunk": trunk})
        self.wake()

    def command(self, call_id: int, kind: str, **members: Any) -> None:
        """Send a command, which wakes a parked claim once."""
        self.calls[call_id].command(kind, **members)
        self.wake()

    def of(self, kind: str) -> list[dict[str, Any]]:
        """Return the bodies of the requests of a kind."""
        return [body for known, body in self.requests if known == kind]

    def last(self, kind: str, member: str) -> Any:
        """Return a member of the last request of a kind; None if there was none."""
        bodies = self.of(kind)
        return bodies[-1].get(member) if bodies else None

    async def until(self, holds: Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait until something holds; fails with what the service saw."""
        deadline = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > deadline:
                seen = {call.id: (call.status, call.types) for call in self.calls.values()}
                message = f"it never came to that: {self.wrongs} {seen} {self.requests[-5:]}"
                raise AssertionError(message)
            await asyncio.sleep(0.005)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        parts = request.path.strip("/").split("/")
        kind = _kind(parts)
        if request.headers.get("Authorization") != f"Bearer {TOKEN}" or not self.is_token_valid:
            return web.json_response({"message": "Unauthenticated."}, status=401)
        raw = await request.read() if kind != "recording" else b""
        self._counts[kind] = self._counts.get(kind, 0) + 1
        fault = self.plan(kind, self._counts[kind])
        if fault in REFUSALS:
            headers = {"Retry-After": "0", "Location": "http://127.0.0.1:1/"}
            return web.json_response({"message": "Not now."}, status=REFUSALS[fault], headers=headers)
        if fault is Fault.DROP_BEFORE:
            return self._drop(request)
        answer = self._answer(request, parts, raw)
        if fault in (Fault.APPLY_LATE, Fault.DROP_DURING):
            self._late.add(asyncio.create_task(self._later(answer, 0.03 if fault is Fault.APPLY_LATE else 0.0)))
            await asyncio.sleep(0)
            return self._drop(request)
        status, body = await answer
        if fault is Fault.DROP_AFTER:
            return self._drop(request)
        if fault is Fault.SLOW:
            await asyncio.sleep(0.05)
        text = json.dumps(body)
        return web.Response(
            status=status,
            text=text[: len(text) // 2] if fault is Fault.TRUNCATED else text,
            content_type="application/json",
        )

    @staticmethod
    async def _later(answer: Awaitable[Answer], seconds: float) -> None:
        await asyncio.sleep(seconds)
        await answer

    @staticmethod
    def _drop(request: web.Request) -> web.Response:
        if request.transport is not None:
            request.transport.abort()
        return web.Response()

    async def _answer(self, request: web.Request, parts: list[str], raw: bytes) -> Answer:
        body = json.loads(raw) if raw else {}
        kind = _kind(parts)
        self.requests.append((kind, body))
        match parts:
            case ["engine"]:
                answer = self._about()
            case ["engine", "claim"]:
                answer = await self._claim(body)
            case ["engine", "trunks"]:
                answer = await self._trunks(dict(request.query))
            case ["engine", "heartbeat"]:
                answer = self._heartbeat(body)
            case ["engine", "calls"]:
                key = request.headers.get("Idempotency-Key")
                if key is None and "external_id" not in body:
                    self.wrongs.append("a call that cannot be brought again")
                answer = await self._once(key, raw, lambda: self._arrive(body)) if key else await self._arrive(body)
            case ["engine", "checks", check_id]:
                answer = self._take_check(int(check_id), body)
            case _:
                answer = await self._of_call(request, parts, raw)
        return answer

    def _take_check(self, check_id: int, body: dict[str, Any]) -> Answer:
        for step in body["steps"]:
            is_known = set(step) == {"name", "ok", "detail"} and step["name"] in ("resolve", "reach", "register")
            if not is_known or not isinstance(step["ok"], bool) or not 0 < len(step["detail"]) <= 200:
                self.wrongs.append(f"a step {step}")
        self.checked[check_id] = body["steps"]
        return 200, {}

    async def _of_call(self, request: web.Request, parts: list[str], raw: bytes) -> Answer:
        body, kind = json.loads(raw) if raw else {}, parts[3]
        call = self.calls.get(int(parts[2]))
        if call is None or call.id in self.lost:
            return 404, {"message": "Call not found"}
        if kind == "events":
            return call.report(body, self.lease_seconds)
        if kind == "recording":
            return await self._record(call, request)
        key = request.headers.get("Idempotency-Key")
        if key is None:
            self.wrongs.append("a tool without a key")
            return 422, {"message": "A key is missing."}
        return await self._once(key, raw, lambda: self._ask(call, parts, body))

    def _about(self) -> Answer:
        if self.protocol < 2:
            return 404, {"message": "Not found"}
        return 200, {"protocol": self.protocol, "release": "test", "lease_seconds": self.lease_seconds, "limits": {}}

    async def _claim(self, body: dict[str, Any]) -> Answer:
        capacity = body["capacity"]
        if body.get("protocol") != 2 or not body.get("engine") or not 0 <= body["wait"] <= 30:
            self.wrongs.append(f"a claim of {body}")
        if capacity == 0 and not self.parks_without_room:
            return 422, {"message": "The capacity must be at least 1.", "errors": {"capacity": ["…"]}}
        deadline = time.monotonic() + body["wait"]
        known = {(call.id, command["id"]) for call in self.calls.values() for command in call.open_commands()}
        while True:
            calls = [self._hand_out(self.queue.popleft()) for _ in range(min(capacity, len(self.queue)))]
            commands = [
                command
                for call in self.calls.values()
                for command in call.open_commands()
                if (call.id, command["id"]) not in known
            ]
            if not self.is_token_valid:
                return 401, {"message": "Unauthenticated."}
            checks = self.checks if body.get("checks") is True else []
            left = deadline - time.monotonic()
            if calls or commands or checks or left <= 0:
                answer = {"calls": calls, "commands": commands}
                if checks:
                    answer["checks"], self.checks = checks, []
                return 200, answer
            try:
                async with asyncio.timeout(left):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _hand_out(self, claimed: dict[str, Any]) -> dict[str, Any]:
        call_id = claimed["call"]["id"]
        self.calls[call_id] = FakeCall(call_id, claimed, self.wrongs)
        self.calls[call_id].lease_until = time.monotonic() + self.lease_seconds
        return claimed

    async def _trunks(self, query: dict[str, str]) -> Answer:
        if query.get("after") == str(self.trunk_version):
            try:
                async with asyncio.timeout(float(query["wait"])):
                    await self._changed.wait()
            except TimeoutError:
                pass
        return 200, {"version": self.trunk_version, "trunks": self.trunks}

    def _heartbeat(self, body: dict[str, Any]) -> Answer:
        lost = []
        for trunk in body.get("trunks", []):
            self.registrations[trunk["id"]] = (trunk["state"], trunk["detail"])
        for call_id in body["calls"]:
            call = self.calls.get(call_id)
            if call is None or call_id in self.lost or call.lease_until < time.monotonic():
                lost.append(call_id)
            else:
                call.lease_until = time.monotonic() + self.lease_seconds
        named = [self.calls[call_id] for call_id in body["calls"] if call_id not in lost]
        commands = [command for call in named for command in call.open_commands()]
        answer = {"lease": None, "lost": lost, "commands": commands}
        return 200, answer if self.drain is None else {**answer, "drain": self.drain}

    async def _arrive(self, body: dict[str, Any]) -> Answer:
        if body["type"] == "inbound":
            if body["to"] not in self.numbers:
                return 404, {"message": "Number not found"}
            if body.get("trunk_id", self.numbers[body["to"]]) != self.numbers[body["to"]]:
                return 403, {"message": "The number is not on that trunk."}
        external_id = body.get("external_id")
        if external_id in self._by_external_id:
            call = self.calls[self._by_external_id[external_id]]
            return (200, call.entry) if call.is_running else (409, {"message": "The call is over."})
        call_id = 1000 + len(self.calls)
        if external_id:
            self._by_external_id[external_id] = call_id
        arrived = entry(call_id, type=body["type"])
        return 201, self._hand_out({**arrived, "assistant": self.assistant or arrived["assistant"]})

    async def _record(self, call: FakeCall, request: web.Request) -> Answer:
        if not call.entry["assistant"]["record"]:
            return 403, {"message": "The assistant does not record."}
        received = bytearray()
        async for chunk in request.content.iter_any():
            received += chunk
        if len(received) != int(request.headers["Content-Length"]):
            self.wrongs.append("a recording of another length than it says")
        call.recording = bytes(received)
        return 201, {"url": f"{self.url}/recordings/{call.id}"}

    async def _once(self, key: str, raw: bytes, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """Answer a repeated key as the first time, with 409 while that still runs; keep only a 2xx."""
        if key in self._keys_running:
            return 409, {"message": "The first request with this key still runs."}
        if key in self._kept:
            same, kept = self._kept[key]
            return kept if same == raw else (422, {"message": "The key belongs to another request."})
        self._keys_running.add(key)
        try:
            answer = await ask()
        finally:
            self._keys_running.discard(key)
        if answer[0] < 300:
            self._kept[key] = (raw, answer)
        return answer

    async def _ask(self, call: FakeCall, parts: list[str], body: dict[str, Any]) -> Answer:
        if parts[3] == "knowledge":
            if not call.is_running:
                return 409, {"message": "The call is over."}
            passage = {"document_id": 1, "document_name": "hours", "score": 0.5, "text": "We open at nine."}
            return 200, {"data": [passage] * body["limit"]}
        if "events" in body:
            status, answer = call.report({"events": body["events"]}, self.lease_seconds)
            if status != 200:
                return status, answer
        if not call.is_running:
            return 409, {"message": "The call is over.", "call_status": call.status, "next_seq": call.held + 1}
        await asyncio.sleep(self.tool_seconds)
        call.tools.append((parts[4], body["arguments"]))
        status, answer = self.tool_answer
        if status != 200:
            answer = {**answer, "call_status": call.status, "next_seq": call.held + 1}
        return status, answer
