"""A language model that follows a script: an OpenAI-compatible server of chat completions."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from aiohttp import web


@dataclass(frozen=True)
class Say:
    """An answer: text, then functions to call; `pause_s` before the first word, `word_s` between words."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    pause_s: float = 0.0
    word_s: float = 0.0


@dataclass(frozen=True)
class Hang:
    """No answer."""


@dataclass(frozen=True)
class Break:
    """An HTTP error, or with 200 nonsense in place of the stream."""

    status: int = 500


Step = Say | Hang | Break
Rule = Callable[[list[dict[str, Any]]], Step]


def call(name: str, **arguments: Any) -> Say:
    """Return an answer that only calls a function."""
    return Say(calls=((name, arguments),))


@dataclass
class ScriptedModel:
    """Answers with `rules`: the first whose key is in the last message; else with `otherwise`."""

    rules: dict[str, Step] = field(default_factory=dict)
    otherwise: Step = field(default_factory=lambda: Say("I see."))
    requests: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""
    cancelled: int = 0
    _runner: web.AppRunner | None = None

    async def __aenter__(self) -> Self:
        app = web.Application()
        app.router.add_post("/chat/completions", self._complete)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._runner is not None
        await self._runner.cleanup()

    @property
    def last(self) -> str:
        """The last message of the last request."""
        return text_of(self.requests[-1]["messages"][-1])

    def _step(self, messages: list[dict[str, Any]]) -> Step:
        said = text_of(messages[-1]).lower()
        return next((step for key, step in self.rules.items() if key.lower() in said), self.otherwise)

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        step = self._step(body["messages"])
        try:
            if isinstance(step, Hang):
                await asyncio.sleep(120)
            if isinstance(step, Break):
                return web.Response(status=step.status, text="<html>what?", content_type="text/html")
            assert isinstance(step, Say)
            if not body.get("stream"):
                await asyncio.sleep(step.pause_s)
                return web.json_response(_whole(step))
            return await self._stream(request, step)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise

    async def _stream(self, request: web.Request, step: Say) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await asyncio.sleep(step.pause_s)
        for nth, word in enumerate(step.text.split()):
            await _send(response, {"content": f"{' ' if nth else ''}{word}"})
            await asyncio.sleep(step.word_s)
        for nth, (name, arguments) in enumerate(step.calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            await _send(
                response,
                {
                    "tool_calls": [
                        {
                            "index": nth,
                            "id": f"call_{len(self.requests)}_{nth}",
                            "type": "function",
                            "function": function,
                        }
                    ]
                },
            )
        await _send(response, {}, finish="tool_calls" if step.calls else "stop", usage=(100, len(step.text.split())))
        await response.write(b"data: [DONE]\n\n")
        return response


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message, also of one in parts."""
    content = message.get("content")
    if isinstance(content, list):
        return " ".join(str(part.get("text", "")) for part in content)
    return str(content or "")


async def _send(
    response: web.StreamResponse,
    delta: Mapping[str, Any],
    finish: str | None = None,
    usage: tuple[int, int] | None = None,
) -> None:
    chunk: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }
    if usage is not None:
        chunk["usage"] = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")


def _whole(step: Say) -> dict[str, Any]:
    message = {"role": "assistant", "content": step.text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 5, "total_tokens": 105},
    }


Waiting = Callable[[], Awaitable[bool]]
