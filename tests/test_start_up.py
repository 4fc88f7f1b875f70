"""What the commands that run all day load: little, and nothing heavy.

The command runs in an interpreter that has read no site-packages hooks, so
that whatever is loaded afterwards was asked for by `council` itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from datetime import timedelta
from pathlib import Path

import pytest

from council.core.times import parse_instant, render_instant

HOUSE = Path(__file__).resolve().parent.parent
HEAVY = frozenset(  # `architecture.md` section 4
    {"asyncio", "dataclasses", "hikari", "inspect", "jinja2", "psycopg", "pydantic", "rich"}
    | {"typer"}
)
RUN_AND_LIST_MODULES = """
import sys
report, *words = sys.argv[1:]
sys.argv = ["council", *words]
code = 1
entered = set()

def enter(frame, event, arg):
    # Not the body of a module or of a class, and nothing that a body of a module calls at once.
    is_function = event == "call" and frame.f_code.co_flags & 2
    if is_function and not (frame.f_back and frame.f_back.f_code.co_name == "<module>"):
        entered.add(frame.f_code.co_filename)

try:
    import council.__main__ as way_in
    way_in._leave = sys.exit  # else the process is gone before it can report
    sys.setprofile(enter)
    code = way_in.main()
except SystemExit as end:
    code = end.code
sys.setprofile(None)
with open(report, "w") as file:
    file.write(repr(code) + "\\n" + "\\n".join(sorted(sys.modules) + sorted(entered)))
"""


def modules_after(council, tmp_path: Path, *words: str) -> tuple[int, set[str]]:
    """Run one command in this one process; return its exit code and what it loaded."""
    report = tmp_path / "loaded.txt"
    search_path = [str(HOUSE), sysconfig.get_path("purelib")]
    done = subprocess.run(
        [sys.executable, "-S", "-c", RUN_AND_LIST_MODULES, str(report), *words],
        cwd=council.root,
        env=council.env(env={"PYTHONPATH": ":".join(search_path)}),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert report.exists(), f"council {' '.join(words)} did not return: {done.stderr}"
    code, *loaded = report.read_text().splitlines()
    return (0 if code == "None" else int(code)), set(loaded)


@pytest.fixture
def convened(council):
    """A workspace with one open council of two agents who answer by hand."""
    assert council("init", "--agents", "owl,gecko").code == 0
    asked = council("convene", "Shall we build a weather bot?", "--agents", "owl,gecko", "--json")
    assert asked.code == 0, asked.err
    return council


def ours(seen: set[str]) -> list[str]:
    """Return the modules of the package among what was loaded and entered."""
    return sorted(name for name in seen if name.split(".")[0] == "council")


def files_entered(seen: set[str]) -> list[str]:
    """Return the files of the package in which a function was called."""
    return sorted(name for name in seen if name.startswith(f"{HOUSE}/council/"))


def heavy(modules: set[str]) -> list[str]:
    return sorted(name for name in modules if name in HEAVY)


def test_respond_loads_nothing_heavy(convened, tmp_path: Path):
    code, modules = modules_after(
        convened, tmp_path, "respond", "Yes: people ask for it.", "--as", "owl"
    )

    assert code == 0
    assert convened("show", "--json").json()["participants"]["owl"]["status"] == "RESPONDED"
    assert heavy(modules) == []


def test_the_way_of_an_answer_is_short(convened, tmp_path: Path):
    code, seen = modules_after(convened, tmp_path, "respond", "Yes: we want it.", "--as", "owl")

    assert code == 0
    assert len(ours(seen)) <= 53, ours(seen)
    assert 20 < len(files_entered(seen)) <= 37, files_entered(seen)


def test_the_way_of_a_heartbeat_that_closes_a_phase_and_starts_runs_is_short(
    council, tmp_path: Path
):
    assert council("init").code == 0
    with (council.root / "council.toml").open("a", encoding="utf-8") as settings:
        for agent in ("owl", "gecko", "fox"):
            settings.write(f'[agents.{agent}]\nargv = ["sleep", "5"]\n')
    opened = council("convene", "Shall we?", "--agents", "owl,gecko,fox", "--timeout", "1h")
    assert opened.code == 0, opened.err
    for agent in ("owl", "gecko"):
        assert council("respond", "Yes: we want it.", "--as", agent).code == 0
    at = council("show", "--json").json()["createdAt"]
    later = render_instant(parse_instant(at) + timedelta(hours=2))

    code, seen = modules_after(council, tmp_path, "heartbeat", "--now", later)

    assert code == 0
    shown = council("show", "--json").json()
    assert shown["currentPhase"] == "CHALLENGE"
    claimed = {one["state"] for one in shown["tasks"].values()} & {"N", "R"}
    assert claimed, "no run was claimed for the new phase"
    assert 40 < len(files_entered(seen)) <= 61, files_entered(seen)


def test_the_answer_that_ends_a_phase_loads_nothing_heavy(convened, tmp_path: Path):
    assert convened("respond", "No: it costs too much.", "--as", "gecko").code == 0

    code, modules = modules_after(
        convened, tmp_path, "respond", "Yes: people ask for it.", "--as", "owl"
    )

    assert code == 0
    assert convened("show", "--json").json()["currentPhase"] == "CHALLENGE"
    assert heavy(modules) == []


def test_context_loads_nothing_heavy(convened, tmp_path: Path):
    code, modules = modules_after(convened, tmp_path, "context", "--as", "owl", "--json")

    assert code == 0
    assert heavy(modules) == []


def test_context_after_an_answer_of_somebody_else_loads_nothing_heavy(convened, tmp_path: Path):
    before = convened("context", "--as", "owl").out
    assert convened("respond", "No: it costs too much.", "--as", "gecko").code == 0

    code, modules = modules_after(convened, tmp_path, "context", "--as", "owl")

    assert code == 0
    assert convened("context", "--as", "owl").out != before
    assert heavy(modules) == []


@pytest.mark.req("HR-029")
def test_waiting_for_a_turn_that_has_come_loads_nothing_heavy(convened, tmp_path: Path):
    code, modules = modules_after(convened, tmp_path, "wait", "--as", "owl")

    assert code == 0
    assert heavy(modules) == []


@pytest.mark.req("HR-029")
def test_waiting_for_what_is_over_loads_nothing_heavy(convened, tmp_path: Path):
    assert convened("cancel", "--name", "active").code == 0

    code, modules = modules_after(convened, tmp_path, "wait", "--as", "owl")

    assert code == 8
    assert heavy(modules) == []


def test_idle_heartbeat_loads_nothing_heavy(convened, tmp_path: Path):
    first = convened("heartbeat", "--json")
    assert first.code == 0

    code, modules = modules_after(convened, tmp_path, "heartbeat", "--json")

    assert code == 0
    assert heavy(modules) == []
    assert json.loads(convened("heartbeat", "--json").out)["changed"] is False


READS_TEXTS = "council.store.texts"


def test_the_commands_that_run_all_day_read_no_table_of_texts(convened, tmp_path: Path):
    assert convened("channel", "create", "chat", "den", "--participants", "owl,gecko").code == 0
    assert convened("channel", "post", "den", "Tea?", "--as", "ann").code == 0
    assert convened("heartbeat").code == 0
    for words in (
        ("heartbeat",),
        ("context", "--as", "owl"),
        ("wait", "--as", "owl"),
        ("respond", "Yes: we want it.", "--as", "owl"),
        ("turn", "begin", "den", "--as", "owl"),
        ("turn", "end", "den", "--as", "owl", "--text", "NO_REPLY"),
    ):
        code, seen = modules_after(convened, tmp_path, *words)
        assert code == 0, words
        assert READS_TEXTS not in seen, words

    _, seen = modules_after(convened, tmp_path, "status")
    assert READS_TEXTS in seen, "what participants do is said in words"


def test_status_in_a_pipe_loads_nothing_that_draws_or_runs_programs(convened, tmp_path: Path):
    code, modules = modules_after(convened, tmp_path, "status")

    assert code == 0
    assert {"typer", "rich", "frontmatter", "subprocess"} & modules == set()


def test_the_bare_interpreter_hides_none_of_the_names_we_look_for(council):
    bare = subprocess.run(
        [sys.executable, "-S", "-c", "import sys; print(*sys.modules)"],
        env=council.env(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert heavy(set(bare.stdout.split())) == []


def test_a_heavy_module_would_be_seen(council):
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", "import sys, dataclasses; print(*sys.modules)"],
        env=council.env(),
        capture_output=True,
        text=True,
        check=True,
    )

    assert {"dataclasses", "inspect"} <= set(heavy(set(loaded.stdout.split())))


AVATARS = [
    "👩\u200d💻",
    "❤\ufe0f",
    "🇩🇪",
    "1\ufe0f\u20e3",
    "👍🏽",
    "🫠",
    "☰",
    "猫",
    "e\u0301",
    "한",
    "𝒳",
    "⚓",
]


def test_status_in_a_pipe_loads_no_rich_whatever_the_avatars(council, tmp_path: Path):
    people = [f"p{number}" for number, _ in enumerate(AVATARS)]
    for person, avatar in zip(people, AVATARS, strict=True):
        soul = council.root / "memory" / "agents" / person / "SOUL.md"
        soul.parent.mkdir(parents=True)
        soul.write_text(f"---\nname: {person}\nemoji: {avatar}\n---\n", encoding="utf-8")
    named = ",".join(people)
    assert council("convene", "Tea?", "--agents", named, "--people", named).code == 0

    code, modules = modules_after(council, tmp_path, "status")

    assert code == 0
    assert not {name for name in modules if name.split(".")[0] in ("rich", "markdown_it")}
    shown = council("status").out
    assert [one for one in AVATARS if one not in shown] == []
