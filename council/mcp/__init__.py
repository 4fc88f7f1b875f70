"""An edge for programs that speak the Model Context Protocol, beside the command line.

`serving` speaks the protocol and is the one that knows its SDK; it has no part in what is done.
Each call goes to `working`, a process without threads, which forks a child for it; the child
calls one operation (`tools`, `reading`) and answers its JSON. What tools, prompts and resources
there are, with every word that a client reads about them, stands in `schemas/mcp.json`.

Source: IO-004, IO-005, IO-008, CL-007.
"""
