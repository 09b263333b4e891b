"""Cartesia: text-to-speech by a websocket of several contexts."""

import base64
from typing import Any

from aiohttp import web

from .server import Behaviour, FakeVendor, Request, tone


class FakeCartesia(FakeVendor):
    """Says a tone for any text, with the times of its words."""

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/tts/websocket", self._on_speech)]

    async def _on_speech(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, _noted: Request, content: Any) -> None:
            context = content["context_id"]
            if words := content.get("transcript", "").split():
                starts = [0.2 * at for at in range(len(words))]
                times = {"words": words, "start": starts, "end": [start + 0.2 for start in starts]}
                await socket.send_json({"type": "timestamps", "context_id": context, "word_timestamps": times})
                data = base64.b64encode(tone("".join(words))).decode()
                await socket.send_json({"type": "chunk", "context_id": context, "data": data, "done": False})
                if self.behaviour is Behaviour.BREAKS_OFF:
                    await self.drop(request)
            if not content.get("continue", True):
                await socket.send_json({"type": "done", "context_id": context, "done": True})

        return await self.converse(request, answer)

    @staticmethod
    def refusal(context: str) -> dict[str, Any]:
        """Return Cartesia's error about a context."""
        return {"type": "error", "context_id": context, "error": "voice not found", "status_code": 404}
