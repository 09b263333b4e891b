"""OpenAI's realtime interface: a websocket that hears sound, and answers by itself."""

import base64
from typing import Any

from aiohttp import web

from .server import Behaviour, FakeVendor, Request, tone


class FakeRealtime(FakeVendor):
    """Answers `words` to each `response.create`, in sound or in text, as the session says."""

    def __init__(self, words: str = "Good morning.") -> None:
        super().__init__()
        self.words = words

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/v1/realtime", self._on_session)]

    async def _on_session(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, noted: Request, content: Any) -> None:
            if content["type"] == "session.update":
                await socket.send_json({"event_id": "2", "type": "session.updated", "session": {"type": "realtime"}})
            elif content["type"] == "response.create":
                if self.behaviour is Behaviour.BREAKS_OFF:
                    await self.drop(request)
                    return
                session = next(one["session"] for one in noted.messages if one["type"] == "session.update")
                for event in self._answer(writes=session["output_modalities"] == ["text"]):
                    await socket.send_json({"event_id": "3", **event})

        created = {"event_id": "1", "type": "session.created", "session": {"type": "realtime"}}
        return await self.converse(request, answer, greeting=created)

    def _answer(self, *, writes: bool) -> list[dict[str, Any]]:
        at = {"response_id": "r1", "item_id": "i1", "output_index": 0, "content_index": 0}
        item = {"id": "i1", "type": "message", "role": "assistant", "status": "completed", "content": []}
        if writes:
            said = [{"type": "response.output_text.delta", **at, "delta": self.words}]
        else:
            sound = base64.b64encode(tone(self.words)).decode()
            said = [
                {"type": "response.output_audio.delta", **at, "delta": sound},
                {"type": "response.output_audio_transcript.delta", **at, "delta": self.words},
                {"type": "response.output_audio.done", **at},
            ]
        usage = {
            "total_tokens": 2, "input_tokens": 1, "output_tokens": 1,
            "input_token_details": {}, "output_token_details": {},
        }  # fmt: skip
        response = {"id": "r1", "object": "realtime.response", "status": "completed", "output": [item]}
        return [
            {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
            {"type": "conversation.item.added", "item": item},
            *said,
            {"type": "response.done", "response": {**response, "usage": usage}},
        ]
