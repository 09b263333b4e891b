"""AssemblyAI, Gladia and Soniox: speech-to-text by websockets."""

from typing import Any

from aiohttp import web

from .server import FakeVendor, Request

WORDS = "When do you open?"


class FakeAssemblyAI(FakeVendor):
    """Hears the words when it is told that the customer has stopped."""

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/v3/ws", self._on_stream)]

    async def _on_stream(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, _noted: Request, content: Any) -> None:
            if isinstance(content, dict) and content["type"] == "ForceEndpoint":
                turn = {"turn_order": 0, "end_of_turn": True, "turn_is_formatted": True, "transcript": WORDS}
                await socket.send_json({"type": "Turn", **turn, "end_of_turn_confidence": 1.0, "words": []})
            elif isinstance(content, dict) and content["type"] == "Terminate":
                ended = {"audio_duration_seconds": 1, "session_duration_seconds": 1}
                await socket.send_json({"type": "Termination", **ended})
                await socket.close()

        return await self.converse(request, answer, greeting={"type": "Begin", "id": "1", "expires_at": 2_000_000_000})


class FakeGladia(FakeVendor):
    """Gives each session an address of its own, and hears the words in its first sound."""

    def routes(self) -> list[web.RouteDef]:
        return [web.post("/v2/live", self._on_create), web.get("/session", self._on_session)]

    async def _on_create(self, request: web.Request) -> web.Response:
        noted = await self.note(request)
        noted.messages.append(await request.json())
        return web.json_response({"id": "1", "url": f"{self.ws}/session"}, status=201)

    async def _on_session(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, noted: Request, content: Any) -> None:
            if content["type"] == "audio_chunk" and len(noted.messages) == 1:
                data = {"is_final": True, "utterance": {"text": WORDS, "language": "en"}}
                await socket.send_json({"type": "transcript", "data": data})
            elif content["type"] == "stop_recording":
                await socket.close()

        return await self.converse(request, answer)


class FakeSoniox(FakeVendor):
    """Hears the words when it is told to finalize."""

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/transcribe-websocket", self._on_stream)]

    async def _on_stream(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, _noted: Request, content: Any) -> None:
            if isinstance(content, dict) and content.get("type") == "finalize":
                tokens = [{"text": text, "is_final": True, "language": "en"} for text in (WORDS, "<end>")]
                await socket.send_json({"tokens": tokens})

        return await self.converse(request, answer)
