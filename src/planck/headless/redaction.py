"""Which values are secrets, so that none of them gets into a log."""

from collections.abc import Iterator, Mapping

from planck.headless.credentials import CredentialFile
from planck.headless.settings import Config
from planck.llm.oauth import AuthError
from planck.llm.redact import Redactor

_NAMES = ("API_KEY", "_TOKEN", "_SECRET", "_PASSWORD")
_HEADERS = ("authorization", "key", "token", "secret")


def redactor(config: Config, environ: Mapping[str, str], saved: CredentialFile) -> Redactor:
    """Takes every key that this process knows out of what is about to be stored."""
    return Redactor([*_from_environment(environ), *_from_config(config), *_from_file(saved)])


def _from_environment(environ: Mapping[str, str]) -> Iterator[str]:
    for name, value in environ.items():
        if name.upper().endswith(_NAMES):
            yield value


def _from_config(config: Config) -> Iterator[str]:
    for entry in config.providers.values():
        for name, value in entry.headers.items():
            if any(word in name.lower() for word in _HEADERS):
                yield value
                yield value.rpartition(" ")[2]  # without the scheme: `Bearer <token>`


def _from_file(saved: CredentialFile) -> Iterator[str]:
    try:
        entries = saved.read()
    except AuthError:
        return  # it is reported where a key is needed
    for entry in entries.values():
        yield from (entry.key, entry.access_token, entry.refresh_token)
