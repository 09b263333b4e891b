"""Anthropic and Gemini: language models by server-sent events."""

import json
from typing import Any

from aiohttp import web

from .server import FakeVendor

WORDS = ["We open", " at nine."]


class FakeAnthropic(FakeVendor):
    """Answers the words to anything."""

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v1/messages", self._on_messages)]

    async def _on_messages(self, request: web.Request) -> web.StreamResponse:
        noted = await self.note(request)
        noted.messages.append(await request.json())
        usage = {"input_tokens": 1, "output_tokens": 1}
        message = {"id": "1", "type": "message", "role": "assistant", "model": "fake", "content": [], "usage": usage}
        deltas = [{"index": 0, "delta": {"type": "text_delta", "text": text}} for text in WORDS]
        events: list[tuple[str, dict[str, Any]]] = [
            ("message_start", {"message": {**message, "stop_reason": None, "stop_sequence": None}}),
            ("content_block_start", {"index": 0, "content_block": {"type": "text", "text": ""}}),
            *[("content_block_delta", delta) for delta in deltas],
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage}),
            ("message_stop", {}),
        ]
        text = "".join(f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events)
        return web.Response(text=text, content_type="text/event-stream")


class FakeGemini(FakeVendor):
    """Answers the words to anything."""

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v1beta/models/{call}", self._on_generate)]

    async def _on_generate(self, request: web.Request) -> web.Response:
        noted = await self.note(request)
        noted.messages.append(await request.json())
        chunks = [{"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}]} for text in WORDS]
        text = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks)
        return web.Response(text=text, content_type="text/event-stream")
