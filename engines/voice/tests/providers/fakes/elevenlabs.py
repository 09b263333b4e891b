"""ElevenLabs: text-to-speech by a websocket of several contexts."""

import base64
from typing import Any

from aiohttp import web

from .server import LETTER_MS, Behaviour, FakeVendor, Request, tone


class FakeElevenLabs(FakeVendor):
    """Says a tone for any text, with the times of its letters. One that breaks off does so after the first text."""

    def __init__(self, *, letter_ms: int = LETTER_MS) -> None:
        super().__init__()
        self.letter_ms = letter_ms

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/v1/text-to-speech/{voice}/multi-stream-input", self._on_speech)]

    async def _on_speech(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, noted: Request, content: Any) -> None:
            context = content.get("context_id")
            if content.get("close_context"):
                await socket.send_json({"isFinal": True, "contextId": context})
            elif content.get("close_socket"):
                await socket.close()
            elif text := content.get("text", "").strip():
                hz = int(noted.query["output_format"][0].removeprefix("pcm_"))
                await socket.send_json(self._spoken(text + " ", context, hz))
                if self.behaviour is Behaviour.BREAKS_OFF:
                    await self.drop(request)

        return await self.converse(request, answer)

    def _spoken(self, text: str, context: str, hz: int) -> dict[str, Any]:
        durations = [self.letter_ms * letter.isalnum() for letter in text]
        alignment = {
            "chars": list(text),
            "charStartTimesMs": [sum(durations[:at]) for at in range(len(text))],
            "charDurationsMs": durations,
        }
        sound = base64.b64encode(tone(text, hz=hz, letter_ms=self.letter_ms)).decode()
        return {"audio": sound, "alignment": alignment, "contextId": context}
