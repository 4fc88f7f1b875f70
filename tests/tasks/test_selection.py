"""Which worker gets a task."""

from typing import Any

import pytest

from council.agents.registry import Worker
from council.tasks.decisions import named_in, others
from council.tasks.model import Context, Rules
from tests.vectors.rows import of


@pytest.mark.parametrize("row", of("rules", "select-worker"))
def test_the_order_of_workers(row: dict[str, Any]) -> None:
    given = row["input"]
    workers = {}
    for one in given["workers"]:
        used = "" if one["last_used"] is None else f"{one['last_used']:09}"
        fields = {name: one[name] for name in ("caps", "load")}
        workers[one["id"]] = Worker(agent_id=one["id"].lower(), used=used, **fields)
    state = Context(workers=workers, rules=Rules(threshold=given["threshold"]))
    assert others(state, given["required"], []) == row["expect"]


WORKERS = {
    "W2": Worker(agent_id="b", caps=["web_search"], max_depth=2),
    "W10": Worker(agent_id="c", caps=["code_exec", "plan"]),
    "W1": Worker(agent_id="a", caps=["web_search", "plan"], load=100),
    "R1": Worker(agent_id="r", caps=["web_search"]),
}


@pytest.mark.parametrize(
    ("required", "threshold", "without", "order"),
    [([], 0.5, [], ["W2", "W10", "W1"]), (["web_search"], 0.5, ["W2"], ["W1"]),
     (["web_search", "plan"], 0.5, [], ["W2", "W10", "W1"]),  # the best one is busy
     (["web_search", "plan"], 1.0, [], ["W1"]), (["translate"], 0.0, [], [])],
)  # fmt: skip
def test_busy_ones_are_last_and_routers_do_no_work(
    required: list[str], threshold: float, without: list[str], order: list[str]
) -> None:
    state = Context(workers=WORKERS, rules=Rules(threshold=threshold))
    assert others(state, required, without) == order


@pytest.mark.parametrize(
    ("text", "caps"),
    [("Do a web search for kettles", ["web_search"]),
     ("Web-search, then PLAN it", ["web_search", "plan"]),
     ("code_exec and web search", ["code_exec"]), ("Planning is all", [])],
)  # fmt: skip
def test_a_text_names_capabilities(text: str, caps: list[str]) -> None:
    assert named_in(text, WORKERS) == caps
