"""Takes part in deliberations by rule: reads who spoke, and answers in the form, or not.

`--stance` is what it says of everybody (agree), `--until N` how it stands before
round N (partial). `--bad N`: its first N attempts at each turn lack the form.
`--crash N`: its first N attempts end with exit code 3. `--only TOUR` restricts
both to one round. `--says empty|binary|huge|noise` is all it ever says.
`--tool` answers by `council respond`, and then prints a word that is no answer.
"""

import argparse
import os
import subprocess
import sys

from reading import Prompt

options = argparse.ArgumentParser()
options.add_argument("--stance", default="agree")
options.add_argument("--until", type=int, default=1)
options.add_argument("--bad", type=int, default=0)
options.add_argument("--crash", type=int, default=0)
options.add_argument("--only", type=int, default=0)
options.add_argument("--says", choices=("empty", "binary", "huge", "noise"))
options.add_argument("--tool", action="store_true")
given = options.parse_args()

me = os.environ["COUNCIL_AGENT"]
phase = os.environ["COUNCIL_PHASE"]
tour = int(os.environ["COUNCIL_TOUR"])
attempt = int(os.environ["COUNCIL_TASK_ID"].rsplit(".", 1)[1])
prompt = Prompt(sys.stdin.read())
ill = not given.only or given.only == tour


def hand_in(text: str) -> None:
    if given.tool:
        subprocess.run(["council", "respond", "-"], input=text.encode(), check=True)
        text = "I have handed in my answer.\n"
    sys.stdout.write(text)
    sys.exit()


FIXED = {
    "empty": b"",
    "binary": bytes(range(256)) * 4,
    "huge": b"All agree, I say. " * 60_000,
    "noise": b"AGREED! Consensus: strong. I agree with everybody, unanimously.",
}
if given.says:
    sys.stdout.buffer.write(FIXED[given.says])
    sys.exit()
if ill and attempt <= given.crash:
    sys.exit(3)
if ill and attempt <= given.bad:
    hand_in(f"I, {me}, agree with everybody (attempt {attempt}).\n")

others = list(dict.fromkeys(one.agent for one in prompt.said if one.agent not in (me, "council")))
stance = given.stance if tour >= given.until else "partial"
if phase == "SYNTHESIZE":
    insights = "\n".join(f"- @{one}: what {one} saw" for one in others)
    text = f"## Consensus Summary\nAs {me} heard it.\n\n## Key Insights\n{insights}\n\n"
    text += "## Recommendation\nDo it.\n"
else:
    lines = "\n".join(f"- @{one}: {stance} — since {one} said so." for one in others)
    more = " ".join(f"{me}{tour}word{number}" for number in range(12))
    text = f"## Position\nDo it, says {me}.\n\n## Responses to Others\n{lines}\n\n"
    text += f"## Reasoning\nFirst {more}.\n\nThen {more}.\n\n## Confidence\n4\n"
hand_in(text)
