"""ElevenLabs: text-to-speech by a websocket of several contexts."""

import base64
from typing import Any

from aiohttp import web

from .server import Behaviour, FakeVendor, Request, tone


class FakeElevenLabs(FakeVendor):
    """Says a tone for any text, with the times of its letters. One that breaks off does so after the first text."""

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/v1/text-to-speech/{voice}/multi-stream-input", self._on_speech)]

    async def _on_speech(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, _noted: Request, content: Any) -> None:
            context = content.get("context_id")
            if content.get("close_context"):
                await socket.send_json({"isFinal": True, "contextId": context})
            elif content.get("close_socket"):
                await socket.close()
            elif text := content.get("text", "").strip():
                await socket.send_json(self._spoken(text + " ", context))
                if self.behaviour is Behaviour.BREAKS_OFF:
                    await self.drop(request)

        return await self.converse(request, answer)

    @staticmethod
    def _spoken(text: str, context: str) -> dict[str, Any]:
        alignment = {
            "chars": list(text),
            "charStartTimesMs": [20 * at for at in range(len(text))],
            "charDurationsMs": [20] * len(text),
        }
        return {"audio": base64.b64encode(tone(text)).decode(), "alignment": alignment, "contextId": context}
