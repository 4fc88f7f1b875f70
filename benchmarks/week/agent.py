"""One of the eight agents of the week: `agent.py RECORD SEED HABIT`.

It writes to RECORD what it is about to do, so that who simulates the week knows the true
cause of what follows; then it does it. Each text bears a mark of its own, `[k:…]`.
"""

import hashlib
import json
import os
import random
import re
import sys
import time

# How often an agent of this habit does as it is called; else it answers.
OFTEN = {"crash": 0.4, "hang": 0.35, "limit": 0.5, "mute": 0.5, "late": 0.6}
REASONS = "It costs little and the people who asked for it use it every day. " * 2


def main():
    """Read the prompt, write down what is done about it, do it."""
    path, seed, habit = sys.argv[1:]
    prompt = sys.stdin.read()
    task = os.environ["COUNCIL_TASK_ID"]
    phase, tour = os.environ.get("COUNCIL_PHASE", ""), int(os.environ.get("COUNCIL_TOUR") or 0)
    mark = hashlib.sha256(f"{seed} {task} {os.getpid()}".encode()).hexdigest()[:12]
    does = habit if random.Random(mark).random() < OFTEN.get(habit, 0) else "says"
    line = prompt.strip().splitlines()[-1]
    in_task = re.match(r"M\d+\|", line)
    if does == "late" and (in_task or phase == "TURN"):
        does = "says"
    known = {"task": task, "agent": os.environ["COUNCIL_AGENT"], "phase": phase, "tour": tour}
    known |= {"name": os.environ.get("COUNCIL_NAME", ""), "does": does, "mark": mark}
    known["at"] = os.environ.get("COUNCIL_NOW", "")
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, (json.dumps(known) + "\n").encode())
    os.close(descriptor)
    if does == "crash":
        sys.exit("Segmentation fault")
    if does == "hang":
        time.sleep(3600)  # its time limit comes first
    if does == "limit":
        sys.exit("429 rate limited: try again in 20 minutes")
    if does in ("mute", "late"):  # who is late answers by hand, hours later
        return
    if in_task:
        print(worker_line(line.split("|"), mark))
    elif phase == "TURN":
        print("NO_REPLY" if int(mark, 16) % 2 else f"I think it will rain. [k:{mark}]")
    else:
        text = form(phase, prompt, mark)
        print(
            f"Sure! Here is my answer:\n\n```markdown\n{text}\n```" if habit == "babble" else text
        )
    if habit == "costs":
        print("\n" + REASONS * 30)


def form(phase, prompt, mark):
    """Return an answer in the form that its phase asks for."""
    me = os.environ["COUNCIL_AGENT"]
    if phase not in ("DELIBERATE", "VOTE"):
        return f"We should do it, says {me}. [k:{mark}]\n\n{REASONS}"
    peers = [one for one in dict.fromkeys(re.findall(r"@([a-z]+)", prompt)) if one in PEERS - {me}]
    stances = "\n".join(f"- @{one}: agree - the sums are right." for one in peers)
    return (
        f"## Position\nWe should do it.\n\n## Responses to Others\n{stances}\n\n"
        f"## Reasoning\n{REASONS}[k:{mark}]\n\n## Confidence\n4"
    )


PEERS = {"good", "crash", "hang", "babble", "limit", "costs", "late", "mute"}


def worker_line(parts, mark):
    """Answer a message of document 002: with the result, or first with a question."""
    sender, me = parts[1].split(">")
    number = int(parts[0][1:]) + 1
    kind, state, said = "S", "D", f"result=it will be sunny [k:{mark}]"
    if "colour" in parts[-1] and parts[2] != "C":
        kind, state, said = "C", "R", "question=Which colour?;options=red,blue"
    first = [f"M{number}", f"{me}>{sender}", kind, parts[3], parts[4], state, "-", *parts[7:10]]
    return "|".join([*first, said])


if __name__ == "__main__":
    main()
