"""A configured endpoint and a model -> the provider that speaks to it; only the dialect in use is loaded."""

from planck.http.transport import Transport
from planck.llm.endpoint import LOCAL_ROOTS, Endpoint
from planck.llm.provider import Provider, ProviderError
from planck.records.outcome import ErrorKind
from planck.records.specs import ModelSpec

TYPES = ("anthropic", "openai", "google", "ollama", "llama_cpp")


def open_provider(endpoint: Endpoint, model: ModelSpec, transport: Transport) -> Provider:
    """Opens no connection. Raises `ProviderError` for a type or an `api` that there is none of."""
    if endpoint.type == "llama_cpp" and not endpoint.base_url:
        name, key, headers = endpoint.name, endpoint.key, endpoint.headers
        endpoint = Endpoint(name, "llama_cpp", "", LOCAL_ROOTS["llama_cpp"], key, headers)
    match endpoint.type:
        case "openai" if _api(endpoint) == "responses":
            from planck.llm.dialects.openai_responses import OpenAIResponses

            return OpenAIResponses(endpoint, model, transport)
        case "openai" | "llama_cpp":
            from planck.llm.dialects.openai_chat import OpenAIChat

            return OpenAIChat(endpoint, model, transport)
        case "ollama":
            from planck.llm.dialects.ollama import Ollama

            return Ollama(endpoint, model, transport)
        case "anthropic":
            from planck.llm.dialects.anthropic import Anthropic

            return Anthropic(endpoint, model, transport)
        case "google":
            from planck.llm.dialects.google import Google

            return Google(endpoint, model, transport)
    raise ProviderError(
        ErrorKind.INVALID_ARGS,
        f"Provider {endpoint.name!r} has an unknown type: {endpoint.type!r}. Use one of {', '.join(TYPES)}.",
    )


def _api(endpoint: Endpoint) -> str:
    """Compatible servers speak `chat`; the vendor's own default is `responses`."""
    api = endpoint.api or ("chat" if endpoint.base_url else "responses")
    if api not in {"chat", "responses"}:
        raise ProviderError(
            ErrorKind.INVALID_ARGS,
            f"Provider {endpoint.name!r} has an unknown api: {api!r}. Use 'chat' or 'responses'.",
        )
    return api
