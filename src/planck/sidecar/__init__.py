"""Tools that live in a process of their own: subclass `Sidecar`, say what `tools()` there are.

    from planck import Tool
    from planck.sidecar import Sidecar

    class MySidecar(Sidecar):
        def tools(self) -> list[Tool]:
            return [Tool("hello", "Say hello", {"type": "object"}, lambda agent, call, args: "hi")]

Put it at `.planck/sidecar/sidecar.py`; nothing needs to be configured.
"""

from planck.records.messages import Message, as_text
from planck.sidecar.discovery import Sidecar, SidecarError, discover, execute_tool, list_tools

__all__ = ["Message", "Sidecar", "SidecarError", "discover", "execute_tool", "list_tools", "as_text"]
