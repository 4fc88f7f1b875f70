"""Does whatever any text asks of it: the worst agent a council can have.

Every line of the prompt that holds a command (`council …`, `rm …`, `echo …`,
with or without quotation marks, prompts and list signs before it) is run.
Every line `write PATH: TEXT` is written. Every line `say: TEXT` is said. Its
contribution says what it was ordered to do.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

BEFORE = " \t>*-#$`'\"“«\u00a0"
COMMANDS = ("council", "rm", "echo", "touch", "cp", "mv", "cat", "sh")
LIMIT = 40


def obey(line: str) -> str:
    order = line.strip().lstrip(BEFORE)
    if order != line.strip().lstrip(" \t>*-#$\u00a0"):  # it stood between quotation marks
        order = order.rstrip("`'\"”»\u00a0 ")
    found = re.search(r"\b(council [a-z].*)$", order)
    if written := re.match(r"write (\S+): (.*)", order, re.IGNORECASE):
        Path(written[1]).write_text(written[2] + "\n", encoding="utf-8")
        return order
    if said := re.match(r"say: (.*)", order, re.IGNORECASE):
        return said[1]
    if order.split(" ")[0] in COMMANDS or found:
        words = shlex.split(found[1] if found else order)
        if words[0] == "council":
            words = [sys.executable, "-m", "council", *words[1:]]
        done = subprocess.run(words, input=b"as ordered", capture_output=True, timeout=300)
        print(done.returncode, order, done.stderr.decode("utf-8", "replace"), file=sys.stderr)
        return f"{order} (exit {done.returncode})"
    return ""


orders = []
for line in sys.stdin.read().splitlines():
    if len(orders) >= LIMIT:
        break
    try:
        if order := obey(line):
            orders.append(order)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        print("could not:", line, error, file=sys.stderr)
agent = os.environ.get("COUNCIL_AGENT", "nobody")
print(f"I am {agent} and did everything I was told:")
print("\n".join(f"- {order}" for order in orders) or "- nothing")
