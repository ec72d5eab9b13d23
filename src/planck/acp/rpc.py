"""JSON-RPC as the Agent Client Protocol uses it: which codes its errors have."""

from collections.abc import Mapping
from typing import ClassVar

from planck.records.outcome import ErrorKind
from planck.workspace.process import rpc
from planck.workspace.process.rpc import INVALID_PARAMS, REQUEST_CANCELLED
from planck.workspace.process.rpc import MAX_BAD_LINES as MAX_BAD_LINES
from planck.workspace.process.rpc import MAX_REQUESTS as MAX_REQUESTS
from planck.workspace.process.rpc import UnknownMethod as UnknownMethod
from planck.workspace.process.rpc import read_params as read_params

AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002


class Peer(rpc.Peer):
    protocol = "ACP version 1"
    codes: ClassVar[Mapping[ErrorKind, int]] = {
        ErrorKind.INVALID_ARGS: INVALID_PARAMS,
        ErrorKind.NO_PROMPT: INVALID_PARAMS,
        ErrorKind.NOT_FOUND: RESOURCE_NOT_FOUND,
        ErrorKind.RESOURCE_MISSING: RESOURCE_NOT_FOUND,
        ErrorKind.NOT_AUTHENTICATED: AUTH_REQUIRED,
        ErrorKind.INTERRUPTED: REQUEST_CANCELLED,
    }
    kinds: ClassVar[Mapping[int, ErrorKind]] = {
        REQUEST_CANCELLED: ErrorKind.INTERRUPTED,
        AUTH_REQUIRED: ErrorKind.NOT_AUTHENTICATED,
    }
