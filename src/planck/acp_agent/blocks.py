"""What a client sends with a prompt becomes a message of the user's: text, files by name or whole, images."""

from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

from planck.acp.schema import AudioContent, EmbeddedResource, ImageContent, Record, ResourceLink, TextContent
from planck.headless import image_from_base64
from planck.records.messages import Image, Text, UserMessage
from planck.records.outcome import ErrorKind, PlanckError


class PromptError(PlanckError):
    """A prompt that can't be sent; nothing of it was."""


def read_prompt(blocks: Sequence[Record]) -> UserMessage:
    """Puts the texts in their order; what is embedded is marked as what it is, below its address."""
    texts: list[str] = []
    images: list[Image] = []
    for block in blocks:
        match block:
            case TextContent(text=text):
                texts.append(text)
            case ResourceLink():
                texts.append(_name_link(block))
            case EmbeddedResource(resource=resource) if resource.text is not None:
                texts.append(f'\n<file uri="{resource.uri}">\n{resource.text}\n</file>\n')
            case EmbeddedResource(resource=resource):
                images.append(_read_image(resource.blob or "", resource.uri))
            case ImageContent(data=data, uri=uri):
                images.append(_read_image(data, uri or "The image"))
            case AudioContent():
                raise PromptError(ErrorKind.INVALID_ARGS, "Audio is not supported. Send text or images.")
    text = "".join(texts).strip()
    if not text and not images:
        raise PromptError(ErrorKind.NO_PROMPT, "The prompt is empty. Describe the task.")
    return UserMessage((Text(text), *images))


def _name_link(link: ResourceLink) -> str:
    """A file is named by its path, which the agent's tools take; anything else by its address."""
    parts = urlsplit(link.uri)
    if parts.scheme == "file":
        line = f" ({parts.fragment})" if parts.fragment else ""
        return f" {unquote(parts.path)}{line} "
    return f" {link.title or link.name}: {link.uri} "


def _read_image(data: str, name: str) -> Image:
    image = image_from_base64(data)
    if image is None:
        raise PromptError(
            ErrorKind.INVALID_ARGS,
            f"{name} is not a PNG, JPEG, GIF or WebP file of at most 4 MiB. Send another image.",
        )
    return image
