"""Deepgram: speech-to-text (`/v1/listen`) and Aura (`/v1/speak`), both websockets."""

from typing import Any

from aiohttp import web

from .server import Behaviour, FakeVendor, Request, tone


class FakeDeepgram(FakeVendor):
    """Hears `words` in any sound, and says a tone for any text.

    Not `eager`, it hears nothing before the customer has stopped, and then its words once, until it gets new ones.
    """

    def __init__(self, words: str = "When do you open?", *, eager: bool = True) -> None:
        super().__init__()
        self.words, self.eager = words, eager

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/v1/listen", self._on_listen), web.get("/v1/speak", self._on_speak)]

    async def _on_listen(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, noted: Request, content: Any) -> None:
            if isinstance(content, bytes):
                if self.eager and not noted.query.get("told"):
                    noted.query["told"] = ["yes"]
                    await socket.send_json(self._results(self.words.split()[0], final=False))
            elif content["type"] == "Finalize":
                if self.behaviour is Behaviour.BREAKS_OFF:
                    await self.drop(request)
                else:
                    noted.query.pop("told", None)
                    words = self.words
                    if not self.eager:
                        self.words = ""
                    await socket.send_json(self._results(words, final=True))
            elif content["type"] == "CloseStream":
                await socket.close()

        return await self.converse(request, answer)

    @staticmethod
    def _results(words: str, *, final: bool) -> dict[str, Any]:
        return {
            "type": "Results", "channel_index": [0, 1], "duration": 1.0, "start": 0.0,
            "is_final": final, "speech_final": final, "from_finalize": final,
            "channel": {"alternatives": [{"transcript": words, "confidence": 0.98, "words": []}]},
            "metadata": {
                "request_id": "1", "model_uuid": "1",
                "model_info": {"name": "nova-3", "version": "1", "arch": "nova-3"},
            },
        }  # fmt: skip

    async def _on_speak(self, request: web.Request) -> web.WebSocketResponse:
        async def answer(socket: web.WebSocketResponse, _noted: Request, content: Any) -> None:
            match content["type"]:
                case "Speak":
                    await socket.send_bytes(tone(content["text"]))
                    if self.behaviour is Behaviour.BREAKS_OFF:
                        await self.drop(request)
                case "Flush":
                    await socket.send_json({"type": "Flushed", "sequence_id": 0})
                case "Close":
                    await socket.close()

        return await self.converse(request, answer)
