"""Plays the corpora of answers against the reader, and judges each row.

right: heard as a careful reader does; of an unclear text nothing wrong, and asked. asked: a part
was not heard, and there is a fault. wrong: a part was heard as something else. lost: a part was
not heard, and nobody is told.
"""

import json
import re
from pathlib import Path
from typing import Any

from council.councils.answers import read
from council.councils.model import Form, Heard

VECTORS = Path(__file__).parent.parent / "vectors"
PEERS = {"claude": "Claude", "gpt": "GPT"}
OPTIONS = {"A": "Do it now.", "B": "Wait a year.", "C": "Hm."}


def rows(name: str) -> list[dict[str, Any]]:
    text = (VECTORS / f"{name}.jsonl").read_text(encoding="utf-8")
    own = ("turn", "vote", "synthesis", "council", "named")
    return [row for row in map(json.loads, text.splitlines()) if row["kind"] in own]


def form_of(row: dict[str, Any]) -> Form:
    kind = {"named": "turn", "council": "contribution"}.get(row["kind"], row["kind"])
    peers = row.get("members", PEERS)
    form = Form(kind=kind, lang=row.get("lang", "en"), author="glm", peers=peers)
    held = "Hm." if kind == "vote" else ""
    vote = {"options": OPTIONS, "held": held} if kind == "vote" else {}
    return form.copy(needs=list(peers) if kind in ("turn", "vote") else [], **vote)


def judge(row: dict[str, Any], heard: Heard) -> tuple[str, list[str]]:
    """Return `right`, `asked`, `wrong` or `lost`, and the parts that are not right."""
    parts = _council if row["kind"] == "council" else _form
    wrong, lost = parts(row["expected"], heard)
    asked, wanted = bool(heard.faults), row["expected"] | row["expected"].get("stances", {})
    if wrong:
        return "wrong", wrong
    if not lost:
        return "right", []
    unclear = not row.get("clear", True) or all(
        wanted.get(name, lost) in ("", None) for name in lost
    )
    return ("right" if unclear else "asked") if asked else "lost", lost


def _form(wanted: dict[str, Any], heard: Heard) -> tuple[list[str], list[str]]:
    wrong, lost = [], []
    texts = {"position": heard.position, "recommendation": heard.recommendation}
    texts |= {"consensus": heard.consensus, "disagreement": heard.disagreement}
    for name, got in texts.items():
        want = wanted.get(name)
        if want and not got:
            lost.append(name)
        elif want:
            long = len(re.findall(r"[.!?](?:\s|$)", got)) > 4 or len(got) > max(400, 2 * len(want))
            wrong += [name] if want not in got or (long and name == "position") else []
        elif want == "":
            wrong += [name] if got else []
            lost += [] if got else [name]
    words = {peer: stance.word for peer, stance in heard.stances.items()}
    for peer, want in wanted.get("stances", {}).items():
        if heard.choice == wanted.get("choice", "") == "abstain":
            continue
        lost += [peer] if peer not in words else []
        wrong += [peer] if words.get(peer, want) != want else []
    for peer, want in wanted.get("insights", {}).items():
        lost += [f"insight {peer}"] if want not in heard.insights.get(peer, "") else []
    for name in ("confidence", "choice"):
        if name in wanted:
            want, got = wanted[name], getattr(heard, name) or None
            abstains = name == "confidence" and heard.choice == "abstain"
            lost += [name] if got is None and not abstains else []
            wrong += [name] if got is not None and got != want else []
    return wrong, lost


def _council(wanted: dict[str, Any], heard: Heard) -> tuple[list[str], list[str]]:
    wrong, lost = [], []
    for name in ("blockers", "resolved"):
        want, got = wanted.get(name, []), getattr(heard, name)
        lost += [name for text in want if not any(text in other for other in got)]
        wrong += [name for other in got if not any(text in other for text in want)]
    words = {"agreed": ["AGREED"], "responded": ["", "RESPONDED"], "RESPONDED": ["RESPONDED"]}
    want = words.get(wanted["status"], [])
    lost += ["status"] if not heard.status and "" not in want else []
    wrong += ["status"] if heard.status and heard.status not in want else []
    return wrong, lost


def play(name: str) -> dict[str, list[tuple[str, list[str]]]]:
    """Return the rows of a corpus by their verdict, each with the parts that are not right."""
    verdicts: dict[str, list[tuple[str, list[str]]]] = {}
    for row in rows(name):
        verdict, parts = judge(row, read(row["text"], form_of(row)))
        verdicts.setdefault(verdict, []).append((row["id"], parts))
    return verdicts
