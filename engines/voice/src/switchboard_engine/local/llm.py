"""A language model at an OpenAI-compatible endpoint."""

from pipecat.services.openai.llm import OpenAILLMService


class EndpointLLMService(OpenAILLMService):
    """Pipecat's service, which leaves its connections open, with an end."""

    async def cleanup(self) -> None:
        """Close the connections."""
        await super().cleanup()  # type: ignore[no-untyped-call]
        await self._client.close()
