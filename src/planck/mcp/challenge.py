"""What a server says that a request was not allowed for: a token that may do too little."""

import httpx2
from mcp.client.auth.utils import extract_field_from_www_auth, extract_scope_from_www_auth


def read_wanted_scope(response: httpx2.Response) -> str | None:
    """Returns the scope that a 403 names, "" if it names none, and None for any other answer."""
    if response.status_code != 403 or extract_field_from_www_auth(response, "error") != "insufficient_scope":
        return None
    return extract_scope_from_www_auth(response) or ""
