"""Lists of minutes answer "what did we decide about X": when, what, how it ended, who."""

from __future__ import annotations

import json
import os
import shutil

import pytest

from council.operations.conversations.listing import archived
from council.operations.place import open_place

AGREED = "## Decision\n\nWe take {}.\n\n## Next step\n\nBuy it."


def decide(council, topic: str, at: str, agents: str = "ann,bob", text: str = "Yes.") -> None:
    """Play a council that ends at an instant."""
    words = ("--agents", agents, "--phases", "collect,synthesize", "--open")
    assert council("convene", topic, *words, now=at).code == 0
    for agent in agents.split(","):
        assert council("respond", "--as", agent, "Yes.", now=at).code == 0
    done = council("synthesize", "--as", agents.partition(",")[0], text, now=at)
    assert done.code == 0, done.err


@pytest.fixture
def decided(council):
    decide(council, "Zebra first?", "2026-03-02T09:00:00Z", text=AGREED.format("the zebra"))
    decide(council, "Mouse second?", "2026-03-02T12:00:00Z", "cid,dora")
    decide(council, "Ant last?", "2026-03-02T23:59:30Z", text=AGREED.format("**the** ant"))
    decide(council, "Bee after midnight?", "2026-03-03T00:00:10Z", "ann,cid")
    return council


def titles(found: list[dict]) -> list[str]:
    return [one["title"].partition(": ")[2] for one in found]


NEWEST = ["Bee after midnight?", "Ant last?", "Mouse second?", "Zebra first?"]


def renamed(folder):
    """People rename minutes so that the names sort the other way round."""
    for number, path in enumerate(sorted(folder.glob("*.md"))):
        path.rename(folder / f"{9 - number} renamed {path.name}")


def without_data(folder):
    """Only the pages were copied: they say the end to the minute."""
    for path in folder.glob("*.json"):
        path.unlink()


def touched(folder):
    """A checkout gives all files one time."""
    for path in folder.iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))


def with_foreign_files(folder):
    """People keep other files there."""
    (folder / "notes.md").write_text("No front matter.\n")
    (folder / "broken.md").write_text("---\n: [\n---\n")
    (folder / "binary.md").write_bytes(b"---\n\xff\xfe\n")
    (folder / "a folder.md").mkdir()
    (folder / ".hidden.md").write_text("---\ntitle: x\n---\n")


@pytest.mark.req("FW-010")
@pytest.mark.parametrize("change", [None, renamed, without_data, touched, with_foreign_files])
def test_the_newest_first_is_by_the_instant_of_the_end(decided, change):
    if change is not None:
        change(decided.root / "conseils")

    found = decided("list", "--archived", "--json").json()

    assert [one for one in titles(found) if one] == NEWEST
    last = decided("list", "--archived", "--last", "1").out
    assert ("2026-03-03 00:00" in last, "Bee after midnight?" in last) == (True, True)
    after = decided("list", "--archived", "--after", found[1]["path"], "--json").json()
    assert titles(after)[:2] == NEWEST[2:]
    shown = decided("show")  # without its data the minutes name themselves in the refusal
    assert "ee-after-midnight" in shown.err or "Bee after midnight?" in shown.out


@pytest.mark.req("FW-010")
def test_minutes_of_one_instant_keep_their_order(council):
    for topic in ("One?", "Two?", "Three?"):
        decide(council, topic, "2026-03-02T09:00:00Z")
    first = titles(council("list", "--archived", "--json").json())
    for path in sorted((council.root / "conseils").iterdir()):
        shutil.copyfile(path, path.with_suffix(".tmp"))
        os.replace(path.with_suffix(".tmp"), path)
    assert titles(council("list", "--archived", "--json").json()) == first


@pytest.mark.req("FW-010")
def test_a_list_says_when_what_was_decided_how_it_ended_and_who_took_part(decided):
    rows = decided("list", "--archived").out.splitlines()

    assert [" ".join(one.split()) for one in rows[:4]] == [
        "ended outcome title decision who minutes",
        "2026-03-03 00:00 no-consensus No agreement: Bee after midnight? ann, cid"
        " conseils/2026-03-03-bee-after-midnight.md",
        "2026-03-02 23:59 no-consensus No agreement: Ant last? We take the ant. ann, bob"
        " conseils/2026-03-02-ant-last.md",
        # No decision is invented.
        "2026-03-02 12:00 no-consensus No agreement: Mouse second? cid, dora"
        " conseils/2026-03-02-mouse-second.md",
    ]
    told = decided("list", "--archived", "--json").json()[1]
    assert told["endedAt"] == "2026-03-02T23:59:30Z"
    assert told["decision"] == "We take the ant."
    assert told["outcome"] == "no-consensus"
    assert told["participants"] == ["ann", "bob"]
    assert told["name"] == "active"
    assert told["id"] == told["conversation"]
    assert told["path"].endswith("conseils/2026-03-02-ant-last.md")
    assert "endedFrom" not in told


@pytest.mark.req("FW-010")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("--agent cid", ["Bee after midnight?", "Mouse second?"]),
        ("--agent CID", ["Bee after midnight?", "Mouse second?"]),
        ("--outcome no-consensus --agent dora", ["Mouse second?"]),
        ("--outcome cancelled", []),
        ("--since 2026-03-03", ["Bee after midnight?"]),
        ("--until 2026-03-02", NEWEST[1:]),
        ("--since 2026-03-02T10:00:00Z --until 2026-03-02T23:00:00Z", ["Mouse second?"]),
        ("--search last?", ["Ant last?"]),
        ("--search zebra --agent cid", []),
        ("--outcome nonsense", None),
        ("--since yesterday", None),
        ("--since 2026-03-03 --until 2026-03-02", None),
    ],
)
def test_a_list_is_filtered_by_outcome_agent_date_and_words(decided, options, expected):
    done = decided("list", "--archived", "--json", *options.split())

    if expected is None:
        assert (done.code, done.json()["error"]["code"]) == (2, "usage")
    else:
        assert titles(done.json()) == expected


@pytest.mark.req("FW-010")
def test_a_search_shows_where_and_how_often_and_counts_what_it_finds(decided):
    done = decided("list", "--archived", "--search", "we take")
    found = decided("list", "--archived", "--search", "we take", "--json").json()

    assert done.err == "council: 2 found\n"
    assert "“We take the ant.” (" in done.out
    assert [one["snippet"] for one in found] == ["We take the ant.", "We take the zebra."]
    nothing = decided("list", "--archived", "--search", "giraffe")
    assert (nothing.code, nothing.out) == (0, "no minutes found\n")


@pytest.mark.req("FW-010")
def test_what_names_only_minutes_is_refused_for_what_is_open(decided):
    done = decided("list", "--outcome", "consensus")
    assert (done.code, "--archived" in done.err) == (2, True)


@pytest.mark.req("FW-010")
def test_a_page_that_people_wrote_has_its_date_or_the_time_of_the_file(decided):
    folder = decided.root / "conseils"
    (folder / "note.md").write_text("---\ntitle: A note\ndate: 2026-03-02\n---\n# A note\n")
    (folder / "bare.md").write_text("---\ntitle: Bare\n---\n# Bare\n")
    os.utime(folder / "bare.md", (1_772_600_000, 1_772_600_000))

    found = decided("list", "--archived", "--json").json()
    rows = decided("list", "--archived").out

    known = {one["title"]: (one["endedAt"], one.get("endedFrom")) for one in found}
    assert known["A note"] == ("2026-03-02T00:00:00Z", "date")
    assert known["Bare"] == ("2026-03-04T04:53:20Z", "file")
    lines = [" ".join(one.split()) for one in rows.splitlines()]
    assert "2026-03-02 A note conseils/note.md" in lines
    assert "~2026-03-04 04:53 Bare conseils/bare.md" in lines


@pytest.mark.req("FW-010")
def test_a_persons_correction_of_the_decision_is_what_a_list_shows(decided):
    path = decided.root / "conseils" / "2026-03-02-ant-last.md"
    path.write_text(path.read_text().replace("> We take **the** ant.", "> Neither."))

    (found,) = decided("list", "--archived", "--search", "neither", "--json").json()

    assert found["decision"] == "Neither."


@pytest.mark.long
@pytest.mark.req("FW-010")
def test_ten_thousand_minutes_are_listed_in_the_time_of_some_hundred_commands(decided):
    """The last few of ten thousand cost no more than reading the beginning of each file."""
    import time

    folder = decided.root / "conseils"
    page = (folder / "2026-03-02-ant-last.md").read_text()
    data = json.loads((folder / "2026-03-02-ant-last.json").read_text())
    for number in range(10_000):
        name = f"2025-01-01-copy-{number}"
        data["finishedAt"] = f"2025-01-01T{number // 3600 % 24:02}:{number // 60 % 60:02}:00Z"
        (folder / f"{name}.json").write_text(json.dumps(data, indent=1))
        (folder / f"{name}.md").write_text(page.replace("2026-03-02-ant-last.json", f"{name}.json"))
    place = open_place(str(decided.root), "", {})

    begun = time.monotonic()
    found = archived(place, most=10)
    took_s = time.monotonic() - begun

    assert titles(found)[:4] == NEWEST
    assert took_s < 10


@pytest.mark.req("FW-010")
def test_pages_and_mcp_list_them_in_the_same_order(decided):
    from council.mcp.reading import listed
    from council.web.readings.home import home, minutes_list

    renamed(decided.root / "conseils")
    place = open_place(str(decided.root), "", {})

    shown = home(place, {})["minutes"]
    assert titles(shown) == NEWEST
    assert [one["endedAt"] for one in shown][:2] == ["2026-03-03T00:00:10Z", "2026-03-02T23:59:30Z"]
    assert shown[1]["decision"] == "We take the ant."
    assert titles(minutes_list(place, {"agent": "cid", "until": "2026-03-02"})["minutes"]) == [
        "Mouse second?"
    ]
    resources = [one["title"] for one in listed(place, {})["resources"] if "minutes/" in one["uri"]]
    assert [one.partition(": ")[2].partition(",")[0] for one in resources] == NEWEST
