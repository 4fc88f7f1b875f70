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


class Desk:
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
def desk(council) -> Desk:
    desk = Desk(council)
    desk.say("henry", "Yes, and here is why.")
    return desk


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
def test_what_the_machine_owns_is_put_back_and_said(desk: Desk, old: str, new: str, field: str):
    before = desk.state()
    edited = desk.edit(replaced(old, new, 1))
    after = desk.state()
    assert fields(edited, "edit.refused") == [field]
    for key in ("conversationId", "createdAt", "briefDigest", "tasks", "tour"):
        assert after[key] == before[key]
    assert after["rev"] == before["rev"] + 1
    desk.well()


@pytest.mark.req("C0-016", "C0-019")
def test_the_id_is_put_back_and_said(desk: Desk):
    edited = desk.edit(replaced(desk.id, "7a2f3c1e-0000-4000-8000-000000000001"))
    assert "conversationId" in fields(edited, "edit.refused")
    assert desk.state()["conversationId"] == desk.id
    desk.well()


@pytest.mark.req("C0-008")
def test_the_brief_is_put_back_and_the_text_kept(desk: Desk):
    edited = desk.edit(replaced(BRIEF, "Nobody asks.", 1))
    assert types(edited)["brief.restored"] == 1
    assert desk.state()["brief"] == BRIEF
    (path,) = edited["kept"]
    assert "Nobody asks." in Path(path).read_text()
    desk.well()


@pytest.mark.req("C0-019", "C0-010")
@pytest.mark.parametrize("place", ["line", "block"])
def test_a_fact_that_both_own_is_taken_in_with_old_and_new(desk: Desk, place: str):
    wanted = "2031-01-02T03:04:05Z"
    deadline = desk.state()["timeoutAt"]
    key = f"- Timeout: {deadline}" if place == "line" else f'"timeoutAt": "{deadline}"'
    edited = desk.edit(replaced(key, key.replace(deadline, wanted), 1))
    (event,) = edited["events"]
    assert event["type"] == "edit.accepted"
    assert event["data"] == {"field": "timeoutAt", "old": deadline, "new": wanted}
    assert desk.state()["timeoutAt"] == wanted
    desk.well()


@pytest.mark.req("C0-019", "C0-007")
def test_a_fact_that_is_not_valid_is_put_back_with_the_reason_and_kept(desk: Desk):
    edited = desk.edit(replaced("- Status: ACTIVE", "- Status: ASLEEP", 1))
    assert fields(edited, "edit.refused") == ["status"]
    assert edited["events"][0]["data"]["reason"]
    assert "ASLEEP" in Path(edited["kept"][0]).read_text()
    assert desk.state()["status"] == "ACTIVE"
    desk.well()


@pytest.mark.req("C0-019")
def test_what_a_person_owns_is_kept_as_it_is(desk: Desk):
    desk.edit(
        "text = text.replace('weather bot?', 'wind sock?', 1)"
        ".replace('## Participants', 'A remark of mine.\\n\\n## Who is here', 1)"
        ".replace('🦉 Henry (agent', '🐧 Henri (agent', 1)"
    )
    text = desk.live.read_text()
    assert "Should we build a wind sock?" in text
    assert "A remark of mine.\n\n## Who is here" in text
    assert "🐧 Henri (agent:henry)" in text
    desk.say("sage", "I doubt it.")
    text = desk.live.read_text()
    assert text.count("A remark of mine.\n\n## Who is here") == 1
    desk.well()


SPEAKS = (
    "text = text.replace('### 🦎 Sage\\n', '### 🦎 Sage\\nSage by hand.\\n', 1)"
    ".replace('Sage (agent:sage): WAITING', 'Sage (agent:sage): {}', 1)"
)


@pytest.mark.req("C0-001", "C0-044")
@pytest.mark.parametrize("sealed", ["--open", "--sealed"])
def test_text_with_its_status_is_a_contribution(council, sealed: str):
    desk = Desk(council, sealed)
    edited = desk.edit(SPEAKS.format("RESPONDED"))
    assert types(edited)["contribution.recorded"] == 1
    assert desk.state()["participants"]["sage"]["status"] == "RESPONDED"
    shown = desk.live.read_text()
    assert ("Sage by hand." in shown) == (sealed == "--open")
    if sealed == "--sealed":
        (seal,) = (desk.folder / "sealed").glob("*.json")
        assert "Sage by hand." in seal.read_text()
    desk.well()


@pytest.mark.req("C0-067")
def test_text_without_its_status_is_a_note_that_check_names(desk: Desk):
    edited = desk.edit("text = text.replace('### 🦎 Sage\\n', '### 🦎 Sage\\nSage by hand.\\n', 1)")
    assert types(edited)["note.found"] == 1
    assert "Sage by hand." in desk.live.read_text()
    assert desk.state()["participants"]["sage"]["status"] == "WAITING"
    checked = desk.council("check")
    assert checked.code == 3
    assert "sage" in checked.err


def test_check_says_that_what_was_taken_out_of_the_state_comes_back(desk: Desk):
    lines = desk.live.read_text().splitlines(keepends=True)
    desk.live.write_text("".join(one for one in lines if '"schemaVersion"' not in one))

    checked = desk.council("check")

    assert checked.code == 3
    assert "refused: schemaVersion taken out: set by the tool" in checked.err


def test_check_tells_of_a_line_that_comes_again_with_the_next_change(desk: Desk):
    whole = desk.live.read_text()
    assert desk.council("check").out == "active: well formed\n"
    desk.live.write_text(whole.replace("\n", "\r\n"))
    assert desk.council("check").out == "active: well formed\n"
    desk.live.write_text(whole.replace("- Status: ACTIVE\n", ""))

    checked = desk.council("check")

    assert checked.code == 0
    assert "its next change writes them again" in checked.out
    assert desk.council("inject", "Go on.").code == 0
    assert "- Status: ACTIVE\n" in desk.live.read_text()


@pytest.mark.req("C0-044")
@pytest.mark.parametrize("new", ["No, and never.", ""], ids=["changed", "deleted"])
def test_what_somebody_said_is_put_back_and_the_edit_kept(desk: Desk, new: str):
    edited = desk.edit(replaced("Yes, and here is why.", new, 1))
    assert types(edited)["contribution.restored"] == 1
    assert [one["text"] for one in desk.state()["contributions"]] == ["Yes, and here is why."]
    if new:
        assert new in Path(edited["kept"][0]).read_text()
    desk.well()


@pytest.mark.req("C0-019")
def test_where_both_sides_of_a_fact_disagree_the_block_wins_and_it_is_said(desk: Desk):
    edited = desk.edit(
        "text = text.replace('- Mode: debate', '- Mode: prd', 1)"
        '.replace(\'"mode": "debate"\', \'"mode": "review"\', 1)'
    )
    assert fields(edited, "edit.conflict") == ["mode"]
    assert desk.state()["mode"] == "review"
    assert "prd" in desk.kept()
    desk.well()


@pytest.mark.req("C0-078", "C0-019")
def test_of_two_people_on_the_same_lines_the_last_save_stands_and_the_other_is_kept(
    desk: Desk, tmp_path: Path
):
    desk.edit("text = text.replace('## Participants', 'The first line.\\n\\n## Participants', 1)")
    gates = {who: tmp_path / who for who in ("ann", "bob")}
    editors = {
        who: desk.council.start(
            *("edit", "--json"),
            env=desk.environ(replaced("The first line.", f"As {who} says.", 1), "in-place", gate),
        )
        for who, gate in gates.items()
    }
    until(lambda: all(Path(f"{one}.open").exists() for one in gates.values()), "the editors")
    desk.say("sage", "Said while both editors are open.")  # no lock is held
    for who, gate in gates.items():
        gate.touch()
        out, err = editors[who].communicate(timeout=300)
        assert editors[who].returncode == 0, err
        saved = json.loads(out)
        assert saved["changed"]
    text = desk.live.read_text()
    assert text.count("As bob says.") == 1
    assert "The first line." not in text
    assert "As ann says." in "".join(Path(one).read_text() for one in saved["kept"])
    assert len(desk.state()["contributions"]) == 2
    desk.well()


# The moments of an edit


@pytest.mark.parametrize("way", WAYS)
def test_each_way_of_saving_is_taken_in_at_once_and_told_in_words(desk: Desk, way: str):
    done = desk.council("edit", env=desk.environ(SPEAKS.format("RESPONDED"), way))
    assert done.code == 0, done.err
    assert "taken in: the contribution of sage" in done.out
    assert "accepted: participants.sage.status: WAITING → RESPONDED" in done.out
    assert desk.council("status", "--json").json()["conversations"][0]["waiting"] == [
        "nova",
        "blaise",
    ]


def test_the_last_answer_by_hand_ends_the_round_at_once(desk: Desk):
    for agent in ("nova", "blaise"):
        desk.say(agent, f"{agent} says so.")
    desk.edit(SPEAKS.format("RESPONDED"))
    state = desk.state()
    assert (state["currentPhase"], state["tour"]) == ("CHALLENGE", 2)
    until(
        lambda: list(desk.council.root.glob("memory/agents/henry/tasks/*.2.henry.1.md")),
        "the prompts of the next round",
    )


def test_without_an_editor_it_says_which_variables_to_set(desk: Desk):
    before = desk.live.read_bytes()
    none = desk.council("edit", env={"EDITOR": " "})
    assert (none.code, "VISUAL or EDITOR" in none.err) == (2, True)
    lost = desk.council("edit", env={"VISUAL": "/nonexistent/vim"})
    assert (lost.code, "/nonexistent/vim" in lost.err) == (5, True)
    torn = desk.council("edit", env={"EDITOR": "'vim"})
    assert torn.code == 2
    assert desk.live.read_bytes() == before


def test_an_editor_that_changes_nothing_or_fails_is_said(desk: Desk):
    before = desk.live.read_bytes()
    same = desk.council("edit", env={"EDITOR": "true"})
    assert (same.code, "nothing was changed" in same.out) == (0, True)
    assert desk.live.read_bytes() == before
    failed = desk.council("edit", env={"EDITOR": "sh -c 'echo More. >> \"$1\"; exit 7' -"})
    assert failed.code == 1
    assert "ended with 7" in failed.err
    assert "More." in desk.live.read_text()


def test_what_is_saved_after_the_end_is_kept_and_its_place_said(desk: Desk, tmp_path: Path):
    gate = tmp_path / "gate"
    editor = desk.council.start(
        "edit", env=desk.environ(replaced("weather bot?", "late idea?", 1), "in-place", gate)
    )
    until(lambda: Path(f"{gate}.open").exists(), "the editor")
    assert desk.council("archive").code == 0
    gate.touch()
    _, err = editor.communicate(timeout=300)
    assert editor.returncode == 4
    (path,) = (desk.folder / "conflicts").iterdir()
    assert str(path) in err.decode()
    assert "late idea?" in path.read_text()


@pytest.mark.req("C0-078")
def test_diff_shows_what_differs_between_revisions_and_from_the_file(desk: Desk):
    first = desk.council("diff", "2", "3")
    assert first.code == 0
    assert "+[Tour 1]: Yes, and here is why." in first.out
    assert "council:entry" not in first.out
    assert "+<!--council:entry" in desk.council("diff", "2", "3", "--whole").out
    assert desk.council("diff", "3").out == "no difference\n"
    desk.live.write_text(desk.live.read_text().replace("weather bot?", "wind sock?"))
    live = desk.council("diff", "3", "--json").json()
    assert (live["from"], live["to"], live["added"], live["removed"]) == (3, None, 1, 1)
    assert "+# Active conversation: Should we build a wind sock?" in live["diff"]
    assert desk.council("diff", "99").code == 5
    assert desk.council("diff", "x").code == 2


def test_diff_says_when_only_marks_and_the_block_differ(desk: Desk):
    desk.live.write_text(desk.live.read_text().replace('"mode": "debate"', '"mode": "prd"'))
    assert "--whole" in desk.council("diff", "3").out
    whole = desk.council("diff", "3", "--whole", "--json").json()
    assert (whole["changed"], whole["added"], whole["removed"]) == (True, 1, 1)


@pytest.mark.req("C0-078")
def test_restore_and_adopt_are_the_ways_back_from_an_edit(desk: Desk):
    desk.edit(replaced("weather bot?", "wind sock?", 1))
    assert desk.council("restore", "3").code == 0
    assert desk.state()["topic"] == TOPIC
    assert [one["text"] for one in desk.state()["contributions"]] == ["Yes, and here is why."]
    desk.live.write_text(desk.live.read_text().replace("Yes, and here is why.", "Never."))
    assert desk.council("check").code == 3
    assert desk.council("adopt").code == 0
    assert [one["text"] for one in desk.state()["contributions"]] == ["Never."]
    desk.well()


@pytest.mark.long
@pytest.mark.req("C0-077", "C0-078", "C0-019", "XC-001")
def test_three_people_and_three_agents_at_once_lose_nothing_and_double_nothing(council):
    agents = [f"a{number}" for number in range(12)]
    desk = Desk(council, agents=",".join(agents))
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
            running.append(("edit", remark, council.start("edit", env=desk.environ(change, way))))
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
    said = Counter(one["agent"] for one in desk.state()["contributions"])
    assert said == dict.fromkeys(acknowledged, 1)
    assert len(acknowledged) == 11
    text = desk.live.read_text()
    kept = desk.kept()
    for remark in remarks:
        assert text.count(remark) == 1 or (text.count(remark) == 0 and remark in kept), remark
    assert sum(remark in text for remark in remarks) >= 1
    desk.well()
