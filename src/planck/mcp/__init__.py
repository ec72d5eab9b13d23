import logging

for _name in ("mcp", "client"):  # the SDK's own; else its warnings and tracebacks land on the user's terminal
    logging.getLogger(_name).addHandler(logging.NullHandler())
