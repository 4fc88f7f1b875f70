"""What becomes of a person's edit: the table of who owns what, through the real commands.

Each row is edited with `council edit` and an editor that is a little program;
what is said at the end is what the person reads.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.operations.tables import until

EDITORS = Path(__file__).parent / "editors.py"
WAYS = ("in-place", "rename", "two-writes")
TOPIC = "Should we build a weather bot?"
BRIEF = "The family asks every morning."


FOUR = "henry,sage,nova,blaise"


class Editing:
    """An open conversation, and a person who edits its file."""

    def __init__(self, council, *words: str, agents: str = FOUR) -> None:
        self.council = council
        self.live = council.root / "memory" / "shared" / "council-active-conversation.md"
        opened = council(
            *("convene", TOPIC, "--brief", BRIEF, "--agents", agents),
            *("--timeout", "9h", "--json", *(words or ("--open",))),
        )
        assert opened.code == 0, opened.err
        self.id = opened.json()["conversationId"]
        self.folder = council.root / "memory" / "shared" / ".council" / self.id

    def say(self, agent: str, text: str) -> None:
        said = self.council("respond", "--as", agent, text)
        assert said.code == 0, said.err

    def edit(self, change: str, way: str = "in-place") -> dict:
        done = self.council("edit", "--json", env=self.environ(change, way))
        assert done.code == 0, done.err
        return done.json()

    def environ(self, change: str, way: str = "in-place", gate: Path | None = None):
        return {
            "EDITOR": f"'{sys.executable}' '{EDITORS}' {way}",
            "CHANGE": change,
            "WAIT_FOR": str(gate or ""),
        }

    def state(self) -> dict:
        return self.council("show", "--json").json()

    def kept(self) -> str:
        return "".join(path.read_text() for path in sorted((self.folder / "conflicts").iterdir()))

    def well(self) -> None:
        checked = self.council("check")
        assert checked.code == 0, checked.err


@pytest.fixture
def editing(council) -> Editing:
    editing = Editing(council)
    editing.say("henry", "Yes, and here is why.")
    return editing


def types(edited: dict) -> Counter:
    return Counter(event["type"] for event in edited["events"])


def fields(edited: dict, kind: str) -> list[str]:
    return [one["data"]["field"] for one in edited["events"] if one["type"] == kind]


def replaced(old: str, new: str, count: int = -1) -> str:
    return f"assert {old!r} in text; text = text.replace({old!r}, {new!r}, {count})"


# The table, one row a test


@pytest.mark.req("C0-019")
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"rev": ', '"rev": 9', "rev"),
        ('"createdAt": "2', '"createdAt": "1', "createdAt"),
        ('"updatedAt": "2', '"updatedAt": "1', "updatedAt"),
        ('"briefDigest": "', '"briefDigest": "00', "briefDigest"),
        ('"attempt": 1', '"attempt": 7', "tasks"),
        ("- Round: 1", "- Round: 4", "tour"),
    ],
)
def test_what_the_machine_owns_is_put_back_and_said(
    editing: Editing, old: str, new: str, field: str
):
    before = editing.state()
    edited = editing.edit(replaced(old, new, 1))
    after = editing.state()
    assert fields(edited, "edit.refused") == [field]
    for key in ("conversationId", "createdAt", "briefDigest", "tasks", "tour"):
        assert after[key] == before[key]
    assert after["rev"] == before["rev"] + 1
    editing.well()


@pytest.mark.req("C0-016", "C0-019")
def test_the_id_is_put_back_and_said(editing: Editing):
    edited = editing.edit(replaced(editing.id, "7a2f3c1e-0000-4000-8000-000000000001"))
    assert "conversationId" in fields(edited, "edit.refused")
    assert editing.state()["conversationId"] == editing.id
    editing.well()


@pytest.mark.req("C0-008")
def test_the_brief_is_put_back_and_the_text_kept(editing: Editing):
    edited = editing.edit(replaced(BRIEF, "Nobody asks.", 1))
    assert types(edited)["brief.restored"] == 1
    assert editing.state()["brief"] == BRIEF
    (path,) = edited["kept"]
    assert "Nobody asks." in Path(path).read_text()
    editing.well()


@pytest.mark.req("C0-019", "C0-010")
@pytest.mark.parametrize("place", ["line", "block"])
def test_a_fact_that_both_own_is_taken_in_with_old_and_new(editing: Editing, place: str):
    wanted = "2031-01-02T03:04:05Z"
    deadline = editing.state()["timeoutAt"]
    key = f"- Timeout: {deadline}" if place == "line" else f'"timeoutAt": "{deadline}"'
    edited = editing.edit(replaced(key, key.replace(deadline, wanted), 1))
    (event,) = edited["events"]
    assert event["type"] == "edit.accepted"
    assert event["data"] == {"field": "timeoutAt", "old": deadline, "new": wanted}
    assert editing.state()["timeoutAt"] == wanted
    editing.well()


@pytest.mark.req("C0-019", "C0-007")
def test_a_fact_that_is_not_valid_is_put_back_with_the_reason_and_kept(editing: Editing):
    edited = editing.edit(replaced("- Status: ACTIVE", "- Status: ASLEEP", 1))
    assert fields(edited, "edit.refused") == ["status"]
    assert edited["events"][0]["data"]["reason"]
    assert "ASLEEP" in Path(edited["kept"][0]).read_text()
    assert editing.state()["status"] == "ACTIVE"
    editing.well()


@pytest.mark.req("C0-019")
def test_what_a_person_owns_is_kept_as_it_is(editing: Editing):
    editing.edit(
        "text = text.replace('weather bot?', 'wind sock?', 1)"
        ".replace('## Participants', 'A remark of mine.\\n\\n## Who is here', 1)"
        ".replace('🦉 Henry (agent', '🐧 Henri (agent', 1)"
    )
    text = editing.live.read_text()
    assert "Should we build a wind sock?" in text
    assert "A remark of mine.\n\n## Who is here" in text
    assert "🐧 Henri (agent:henry)" in text
    editing.say("sage", "I doubt it.")
    text = editing.live.read_text()
    assert text.count("A remark of mine.\n\n## Who is here") == 1
    editing.well()


SPEAKS = (
    "text = text.replace('### 🦎 Sage\\n', '### 🦎 Sage\\nSage by hand.\\n', 1)"
    ".replace('Sage (agent:sage): WAITING', 'Sage (agent:sage): {}', 1)"
)


@pytest.mark.req("C0-001", "C0-044")
@pytest.mark.parametrize("sealed", ["--open", "--sealed"])
def test_text_with_its_status_is_a_contribution(council, sealed: str):
    editing = Editing(council, sealed)
    edited = editing.edit(SPEAKS.format("RESPONDED"))
    assert types(edited)["contribution.recorded"] == 1
    assert editing.state()["participants"]["sage"]["status"] == "RESPONDED"
    shown = editing.live.read_text()
    assert ("Sage by hand." in shown) == (sealed == "--open")
    if sealed == "--sealed":
        (seal,) = (editing.folder / "sealed").glob("*.json")
        assert "Sage by hand." in seal.read_text()
    editing.well()


@pytest.mark.req("C0-067")
def test_text_without_its_status_is_a_note_that_check_names(editing: Editing):
    edited = editing.edit(
        "text = text.replace('### 🦎 Sage\\n', '### 🦎 Sage\\nSage by hand.\\n', 1)"
    )
    assert types(edited)["note.found"] == 1
    assert "Sage by hand." in editing.live.read_text()
    assert editing.state()["participants"]["sage"]["status"] == "WAITING"
    checked = editing.council("check")
    assert checked.code == 3
    assert "sage" in checked.err


def test_check_says_that_what_was_taken_out_of_the_state_comes_back(editing: Editing):
    lines = editing.live.read_text().splitlines(keepends=True)
    editing.live.write_text("".join(one for one in lines if '"schemaVersion"' not in one))

    checked = editing.council("check")

    assert checked.code == 3
    assert "refused: schemaVersion taken out: set by the tool" in checked.err


def test_check_tells_of_a_line_that_comes_again_with_the_next_change(editing: Editing):
    whole = editing.live.read_text()
    assert editing.council("check").out == "active: well formed\n"
    editing.live.write_text(whole.replace("\n", "\r\n"))
    assert editing.council("check").out == "active: well formed\n"
    editing.live.write_text(whole.replace("- Status: ACTIVE\n", ""))

    checked = editing.council("check")

    assert checked.code == 0
    assert "its next change writes them again" in checked.out
    assert editing.council("inject", "Go on.").code == 0
    assert "- Status: ACTIVE\n" in editing.live.read_text()


@pytest.mark.req("C0-044")
@pytest.mark.parametrize("new", ["No, and never.", ""], ids=["changed", "deleted"])
def test_what_somebody_said_is_put_back_and_the_edit_kept(editing: Editing, new: str):
    edited = editing.edit(replaced("Yes, and here is why.", new, 1))
    assert types(edited)["contribution.restored"] == 1
    assert [one["text"] for one in editing.state()["contributions"]] == ["Yes, and here is why."]
    if new:
        assert new in Path(edited["kept"][0]).read_text()
    editing.well()


@pytest.mark.req("C0-019")
def test_where_both_sides_of_a_fact_disagree_the_block_wins_and_it_is_said(editing: Editing):
    edited = editing.edit(
        "text = text.replace('- Mode: debate', '- Mode: prd', 1)"
        '.replace(\'"mode": "debate"\', \'"mode": "review"\', 1)'
    )
    assert fields(edited, "edit.conflict") == ["mode"]
    assert editing.state()["mode"] == "review"
    assert "prd" in editing.kept()
    editing.well()


@pytest.mark.req("C0-078", "C0-019")
def test_of_two_people_on_the_same_lines_the_last_save_stands_and_the_other_is_kept(
    editing: Editing, tmp_path: Path
):
    editing.edit(
        "text = text.replace('## Participants', 'The first line.\\n\\n## Participants', 1)"
    )
    gates = {who: tmp_path / who for who in ("ann", "bob")}
    editors = {
        who: editing.council.start(
            *("edit", "--json"),
            env=editing.environ(
                replaced("The first line.", f"As {who} says.", 1), "in-place", gate
            ),
        )
        for who, gate in gates.items()
    }
    until(lambda: all(Path(f"{one}.open").exists() for one in gates.values()), "the editors")
    editing.say("sage", "Said while both editors are open.")  # no lock is held
    for who, gate in gates.items():
        gate.touch()
        out, err = editors[who].communicate(timeout=300)
        assert editors[who].returncode == 0, err
        saved = json.loads(out)
        assert saved["changed"]
    text = editing.live.read_text()
    assert text.count("As bob says.") == 1
    assert "The first line." not in text
    assert "As ann says." in "".join(Path(one).read_text() for one in saved["kept"])
    assert len(editing.state()["contributions"]) == 2
    editing.well()


# The moments of an edit


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_saving_is_taken_in_at_once_and_told_in_words(editing: Editing, way: str):
    done = editing.council("edit", env=editing.environ(SPEAKS.format("RESPONDED"), way))
    assert done.code == 0, done.err
    assert "taken in: the contribution of sage" in done.out
    assert "accepted: participants.sage.status: WAITING → RESPONDED" in done.out
    assert editing.council("status", "--json").json()["conversations"][0]["waiting"] == [
        "nova",
        "blaise",
    ]


def test_the_last_answer_by_hand_ends_the_round_at_once(editing: Editing):
    for agent in ("nova", "blaise"):
        editing.say(agent, f"{agent} says so.")
    editing.edit(SPEAKS.format("RESPONDED"))
    state = editing.state()
    assert (state["currentPhase"], state["tour"]) == ("CHALLENGE", 2)
    until(
        lambda: list(editing.council.root.glob("memory/agents/henry/tasks/*.2.henry.1.md")),
        "the prompts of the next round",
    )


def test_without_an_editor_it_says_which_variables_to_set(editing: Editing):
    before = editing.live.read_bytes()
    none = editing.council("edit", env={"EDITOR": " "})
    assert (none.code, "VISUAL or EDITOR" in none.err) == (2, True)
    lost = editing.council("edit", env={"VISUAL": "/nonexistent/vim"})
    assert (lost.code, "/nonexistent/vim" in lost.err) == (5, True)
    torn = editing.council("edit", env={"EDITOR": "'vim"})
    assert torn.code == 2
    assert editing.live.read_bytes() == before


def test_an_editor_that_changes_nothing_or_fails_is_said(editing: Editing):
    before = editing.live.read_bytes()
    same = editing.council("edit", env={"EDITOR": "true"})
    assert (same.code, "nothing was changed" in same.out) == (0, True)
    assert editing.live.read_bytes() == before
    failed = editing.council("edit", env={"EDITOR": "sh -c 'echo More. >> \"$1\"; exit 7' -"})
    assert failed.code == 1
    assert "ended with 7" in failed.err
    assert "More." in editing.live.read_text()


def test_what_is_saved_after_the_end_is_kept_and_its_place_said(editing: Editing, tmp_path: Path):
    gate = tmp_path / "gate"
    editor = editing.council.start(
        "edit", env=editing.environ(replaced("weather bot?", "late idea?", 1), "in-place", gate)
    )
    until(lambda: Path(f"{gate}.open").exists(), "the editor")
    assert editing.council("archive").code == 0
    gate.touch()
    _, err = editor.communicate(timeout=300)
    assert editor.returncode == 4
    (path,) = (editing.folder / "conflicts").iterdir()
    assert str(path) in err.decode()
    assert "late idea?" in path.read_text()


@pytest.mark.req("C0-078")
def test_diff_shows_what_differs_between_revisions_and_from_the_file(editing: Editing):
    first = editing.council("diff", "2", "3")
    assert first.code == 0
    assert "+[Tour 1]: Yes, and here is why." in first.out
    assert "council:entry" not in first.out
    assert "+<!--council:entry" in editing.council("diff", "2", "3", "--whole").out
    assert editing.council("diff", "3").out == "no difference\n"
    editing.live.write_text(editing.live.read_text().replace("weather bot?", "wind sock?"))
    live = editing.council("diff", "3", "--json").json()
    assert (live["from"], live["to"], live["added"], live["removed"]) == (3, None, 1, 1)
    assert "+# Active conversation: Should we build a wind sock?" in live["diff"]
    assert editing.council("diff", "99").code == 5
    assert editing.council("diff", "x").code == 2


def test_diff_says_when_only_marks_and_the_block_differ(editing: Editing):
    editing.live.write_text(editing.live.read_text().replace('"mode": "debate"', '"mode": "prd"'))
    assert "--whole" in editing.council("diff", "3").out
    whole = editing.council("diff", "3", "--whole", "--json").json()
    assert (whole["changed"], whole["added"], whole["removed"]) == (True, 1, 1)


@pytest.mark.req("C0-078")
def test_restore_and_adopt_are_the_ways_back_from_an_edit(editing: Editing):
    editing.edit(replaced("weather bot?", "wind sock?", 1))
    assert editing.council("restore", "3").code == 0
    assert editing.state()["topic"] == TOPIC
    assert [one["text"] for one in editing.state()["contributions"]] == ["Yes, and here is why."]
    editing.live.write_text(editing.live.read_text().replace("Yes, and here is why.", "Never."))
    assert editing.council("check").code == 3
    assert editing.council("adopt").code == 0
    assert [one["text"] for one in editing.state()["contributions"]] == ["Never."]
    editing.well()


@pytest.mark.long
@pytest.mark.req("C0-077", "C0-078", "C0-019", "XC-001")
def test_three_people_and_three_agents_at_once_lose_nothing_and_double_nothing(council):
    agents = [f"a{number}" for number in range(12)]
    editing = Editing(council, agents=",".join(agents))
    remarks = [f"Remark {number} of {way}." for way in WAYS for number in range(4)]
    people, speakers = list(remarks), [one for one in agents if one != "a0"]
    running: list = []
    acknowledged = []
    while people or speakers or running:
        # Three of each at a time: editors and answers, as fast as they come.
        while people and sum(one[0] == "edit" for one in running) < 3:
            remark = people.pop(0)
            change = f"text = text.replace('## Participants', '{remark}\\n\\n## Participants', 1)"
            way = WAYS[len(people) % 3]
            running.append(
                ("edit", remark, council.start("edit", env=editing.environ(change, way)))
            )
        while speakers and sum(one[0] == "respond" for one in running) < 3:
            agent = speakers.pop(0)
            words = ("respond", "--as", agent, f"I am {agent}.")
            running.append(("respond", agent, council.start(*words)))
        kind, what, process = running.pop(0)
        _, err = process.communicate(timeout=300)
        assert process.returncode == 0, (kind, what, err)
        if kind == "respond":
            acknowledged.append(what)

    assert council("heartbeat").code == 0
    said = Counter(one["agent"] for one in editing.state()["contributions"])
    assert said == dict.fromkeys(acknowledged, 1)
    assert len(acknowledged) == 11
    text = editing.live.read_text()
    kept = editing.kept()
    for remark in remarks:
        assert text.count(remark) == 1 or (text.count(remark) == 0 and remark in kept), remark
    assert sum(remark in text for remark in remarks) >= 1
    editing.well()
