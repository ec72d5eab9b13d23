"""The fixtures that each wire server and each adapter is checked with."""

from planck.records.messages import StopReason, Text, Thinking, ToolCall
from planck.records.usage import Usage
from tests.wire.script import Answer

USAGE = Usage(120, 34, cache_read_tokens=80, reasoning_tokens=12)
CALLS = (
    ToolCall("", "call_1", "read", '{"path":"a/ä.txt","deep":{"n":[1,2.5,null]}}'),
    ToolCall("", "call_2", "now", "{}"),
)
TEXT = Answer((Text("Grüße, 世界 🎉!"),), usage=USAGE)
THINKING = Answer((Thinking("well, let me see", "c2lnbmVk"), Text("It is 4.")), usage=USAGE)
PARALLEL = Answer((Text("I look."), *CALLS), StopReason.TOOL_CALLS, USAGE, fragment=3)
LENGTH = Answer((Text("I was about to"),), StopReason.LENGTH)
REFUSAL = Answer((Text("I can't help with that."),), StopReason.REFUSAL)
FILTER = Answer((), StopReason.FILTER)
