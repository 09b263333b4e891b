"""OpenAI's HTTP: chat completions by server-sent events, speech, transcriptions."""

import json
from typing import Any

from aiohttp import web

from .server import Behaviour, FakeVendor, pieces, tone


class FakeOpenAI(FakeVendor):
    """Answers `words` to anything, or calls `function`."""

    def __init__(self, words: str = "We open at nine.", function: tuple[str, dict[str, Any]] | None = None) -> None:
        super().__init__()
        self.words, self.function = words, function

    @property
    def url(self) -> str:
        """Base URL, as OPENAI_BASE_URL has it."""
        return f"{self.http}/v1"

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/v1/chat/completions", self._on_chat),
            web.post("/v1/audio/speech", self._on_speech),
            web.post("/v1/audio/transcriptions", self._on_transcription),
        ]

    async def _on_chat(self, request: web.Request) -> web.StreamResponse:
        noted = await self.note(request)
        noted.messages.append(await request.json())
        if self.behaviour is Behaviour.SILENT:
            await self.hang()
        if self.behaviour is Behaviour.GARBAGE:
            return web.Response(text="<html>Bad gateway</html>", content_type="text/html")
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for at, delta in enumerate(self._deltas(noted.messages[0])):
            if at and self.behaviour is Behaviour.BREAKS_OFF:
                await self.drop(request)
                return response
            await response.write(_event(delta))
        await response.write(_event({}, finish="tool_calls" if self.function else "stop") + b"data: [DONE]\n\n")
        return response

    def _deltas(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        is_answered = asked["messages"][-1]["role"] == "tool"
        if self.function and not is_answered:
            name, arguments = self.function
            call = {"name": name, "arguments": json.dumps(arguments)}
            return [{"tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": call}]}]
        words = self.words.split(" ")
        return [{"content": word if at == 0 else f" {word}"} for at, word in enumerate(words)]

    async def _on_speech(self, request: web.Request) -> web.StreamResponse:
        noted = await self.note(request)
        noted.messages.append(await request.json())
        if self.behaviour is Behaviour.SILENT:
            await self.hang()
        if self.behaviour is Behaviour.GARBAGE:
            return web.Response(text="<html>Bad gateway</html>", content_type="text/html")
        response = web.StreamResponse(headers={"Content-Type": "audio/pcm"})
        await response.prepare(request)
        async for piece in pieces(tone(noted.messages[0]["input"]), 9_600):
            await response.write(piece)
            if self.behaviour is Behaviour.BREAKS_OFF:
                await self.drop(request)
                return response
        return response

    async def _on_transcription(self, request: web.Request) -> web.Response:
        noted = await self.note(request)
        form = await request.post()
        noted.messages.append({name: value for name, value in form.items() if isinstance(value, str)})
        if self.behaviour is Behaviour.SILENT:
            await self.hang()
        if self.behaviour is Behaviour.GARBAGE:
            return web.Response(text="<html>Bad gateway</html>", content_type="text/html")
        return web.json_response({"text": self.words})


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    chunk = {
        "id": "1", "object": "chat.completion.chunk", "created": 1, "model": "fake",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }  # fmt: skip
    return f"data: {json.dumps(chunk)}\n\n".encode()
