"""Services with OpenAI's interface that are not OpenAI's, where Pipecat insists on what only OpenAI has."""

from collections.abc import AsyncGenerator
from typing import Any

from pipecat.adapters.llm.services.open_ai_adapter import OpenAILLMInvocationParams
from pipecat.frames.frames import ErrorFrame, Frame, TTSAudioRawFrame
from pipecat.services.openai.llm import OpenAILLMService
from pipecat.services.openai.tts import OpenAITTSService


class CompatibleTTSService(OpenAITTSService):
    """Speech from `/audio/speech` of any server, in any voice that it has: Pipecat's knows the names of OpenAI's."""

    async def run_tts(self, text: str, context_id: str) -> AsyncGenerator[Frame, None]:
        """Ask for raw 16-bit samples at 24 kHz, and pass them on as they come."""
        wanted = {name: getattr(self._settings, name) for name in ("model", "voice", "speed", "instructions")}
        given = {name: value for name, value in wanted.items() if value is not None}
        speech = self._client.audio.speech.with_streaming_response
        async with speech.create(input=text, response_format="pcm", **given) as response:
            if not response.headers.get("content-type", "").startswith(("audio/", "application/octet-stream")):
                yield ErrorFrame(error="The speech server did not answer with sound.")
                return
            await self.start_tts_usage_metrics(text)
            async for chunk in response.iter_bytes(self.chunk_size):
                await self.stop_ttfb_metrics()
                yield TTSAudioRawFrame(chunk, self.sample_rate, 1, context_id=context_id)


class CohereLLMService(OpenAILLMService):
    """Cohere's models by its compatible interface, which refuses `stream_options` and knows no developer messages."""

    supports_developer_role = False

    def build_chat_completion_params(self, params_from_context: OpenAILLMInvocationParams) -> dict[str, Any]:
        """Return the request without what Cohere refuses."""
        params: dict[str, Any] = super().build_chat_completion_params(params_from_context)
        params.pop("stream_options", None)
        return params


class CompatibleLLMService(OpenAILLMService):
    """Chat completions of any server, which may know no developer messages."""

    supports_developer_role = False
