"""Prints as many bytes as its first argument says, and never stops without one."""

import sys

LINE = b"and furthermore, as I was saying, there is one more thing to consider;\n"
left = int(sys.argv[1]) if len(sys.argv) > 1 else None
while left is None or left > 0:
    chunk = LINE * 1000 if left is None else (LINE * 1000)[:left]
    sys.stdout.buffer.write(chunk)
    left = None if left is None else left - len(chunk)
