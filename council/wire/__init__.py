"""Text and messages: the five protocol versions of document 002, pure.

`messages` is the door: `detect`, `parse`, `validate`. Beside it stand
`building` (write a message), `conversion` (between versions), `replies` (the
message that answers a fault), `signing`, `log_lines`, `explanation`,
`economy` (lint), `changes` (diff) and `meaning` (agents, tasks, references).
"""
