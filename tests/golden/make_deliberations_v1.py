"""How the workspace `deliberations-v1/` was made when deliberations were first released.

    python -m tests.golden.make_deliberations_v1 FOLDER

Like `v1/` it is never made anew.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.golden.make_v1 import clear, opened

AGENTS = ("claude", "gpt", "glm")
# With which words each was convened, and who then says what of whom.
DELIBERATIONS = {
    "blind": (
        ("--sealed",),
        (("gpt", "", 4), ("claude", "", 9)),
    ),
    "turns": (
        ("--lang", "fr", "--max-rounds", "3"),
        (
            *(("claude", "", 4), ("gpt", "claude=partiel", 4), ("glm", "claude=accord", 2)),
            *(("glm", "claude=accord gpt=partiel", 2), ("gpt", "claude=accord glm=accord", 5)),
        ),
    ),
    "voting": (
        ("--max-rounds", "1"),
        (
            *(
                ("claude", "", 4),
                ("gpt", "claude=agree", 4),
                ("glm", "claude=disagree gpt=agree", 3),
            ),
            ("gpt", "claude=agree glm=partial", 5),
        ),
    ),
    "decided": (
        ("--max-rounds", "1", "--synthesizer", "glm"),
        (
            *(
                ("claude", "", 4),
                ("gpt", "claude=agree", 4),
                ("glm", "claude=partial gpt=agree", 3),
            ),
            *(("claude", "gpt=agree glm=agree", 5), ("gpt", "claude=agree glm=agree", 5)),
            ("glm", "claude=partial gpt=agree", 2),
        ),
    ),
}


def turn(agent: str, stances: str, confidence: int) -> str:
    """Return what an agent says."""
    lines = "".join(
        f"- @{other}: {stance} — «naïve» or <!-- not -->\n"
        for other, _, stance in (one.partition("=") for one in stances.split())
    )
    return (
        f"## Position\nTea, says {agent}.\n\n## Responses to Others\n{lines}\n"
        f"## Reasoning\nIt is warm.\n\nAnd cheap.\n\n## Confidence\n{confidence}\n"
    )


def make(root: Path) -> None:
    """Make the workspace with the real commands."""
    council = opened(root)
    for name, (words, turns) in DELIBERATIONS.items():
        council(
            *("convene", f"Tea or coffee in {name}?", "--brief", f"All about {name}."),
            *("--procedure", "deliberation", "--name", name, "--agents", ",".join(AGENTS)),
            *("--cwd", "/", "--timeout", "9h", *words),
        )
        for number, (agent, stances, confidence) in enumerate(turns, 1):
            said = turn(agent, stances, confidence)
            council("respond", "--name", name, "--as", agent, said)
            if number == 1:
                council("inject", "--name", name, "Mind the budget.")
        if name == "decided":
            said = "## Consensus Summary\nTea.\n\n## Recommendation\nServe tea."
            council("synthesize", "--name", name, "--as", "glm", said)
        council("heartbeat")
    clear(root)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
