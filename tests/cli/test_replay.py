"""What `history` offers can be seen, by `diff` and `show --at`, also when its text was pruned."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from council.operations.conversations.replay import replayed
from council.operations.place import open_place
from council.operations.view import readable

MINUTE = timedelta(minutes=1)
_DEBATE = (
    ("respond", "--as", "owl", "Yes."),
    ("respond", "--as", "gecko", "No.\nBLOCKING: nobody feeds it"),
    ("say", "Mind the cost."),
    ("respond", "--as", "owl", "I will feed it."),
    ("pause",),
    ("resume",),
    ("extend", "30m"),
    ("respond", "--as", "gecko", "--status", "agreed", "Then yes."),
    ("respond", "--as", "owl", "--status", "agreed", "Yes."),
    ("respond", "--as", "gecko", "--status", "agreed", "Yes."),
)
_END = ("synthesize", "--as", "owl", "## Decision\n\nWe build it.")


def play(council, now, acts=_DEBATE):
    for number, act in enumerate(acts, 1):
        done = council(*act, now=now + number * MINUTE)
        assert done.code == 0, done.err
    return now + (len(acts) + 1) * MINUTE


def texts_of(council) -> dict[int, str]:
    """Return what people read of each revision that is offered."""
    found = replayed(open_place(str(council.root), "", {}), "active")
    return {one.rev: readable(found.text_at(one.rev)) for one in found.revisions}


@pytest.mark.req("FW-012.1", "C0-078")
def test_each_revision_of_an_ended_council_is_shown_as_it_was(opened, now):
    end = play(opened, now)
    before = texts_of(opened)
    assert opened(*_END, now=end).code == 0

    after = texts_of(opened)

    holes = [one["hole"] for one in opened("history", "--json").json()]
    assert holes.count("archived") > 5
    assert {rev: after[rev] for rev in before} == before
    assert len(after) > len(before)
    assert "We build it." in after[max(after)]


@pytest.mark.req("FW-012.1")
def test_whatever_history_offers_diff_and_show_can_show(opened, now):
    end = play(opened, now)
    assert opened(*_END, now=end).code == 0

    offered = [one["rev"] for one in opened("history", "--json").json()]

    assert len(offered) > 10
    for rev in offered:
        shown = opened("show", "--at", str(rev))
        differs = opened("diff", str(rev))
        assert (shown.code, differs.code) == (0, 0), shown.err + differs.err
        record = opened("show", "--at", str(rev), "--json").json()
        assert record["rev"] == rev
    rebuilt = next(one for one in opened("history", "--json").json()[2:] if one["hole"])["rev"]
    differs = opened("diff", "1", str(rebuilt))
    assert f"+++ revision {rebuilt} (2026-02-08T20:0" in differs.out
    assert "Z, rebuilt)" in differs.out
    note = opened("show", "--at", str(rebuilt))
    assert note.err == f"council: revision {rebuilt} is rebuilt from what was said\n"
    beyond = opened("diff", "1", "99")
    assert (beyond.code, "active has no revision 99 that can be shown" in beyond.err) == (5, True)


@pytest.mark.req("FW-012.1")
def test_after_gc_all_is_rebuilt_from_the_minutes(opened, now):
    end = play(opened, now)
    assert opened(*_END, now=end).code == 0
    before = texts_of(opened)
    assert opened("gc", "--older-than", "1s", now=end + 10 * MINUTE).code == 0

    assert {one["hole"] for one in opened("history", "--json").json()} >= {"gc"}
    assert texts_of(opened) == before


@pytest.mark.req("FW-012.2")
def test_without_its_journal_a_council_is_replayed_contribution_by_contribution(opened, now):
    end = play(opened, now)
    assert opened(*_END, now=end).code == 0
    shutil.rmtree(opened.root / "memory" / "shared" / ".council")

    texts = texts_of(opened)
    found = replayed(open_place(str(opened.root), "", {}), "active")
    given = [one for rev in texts for one in found.contributions_of(rev)]

    assert given == [
        *("1-owl", "1-gecko", "2-person-injection", "2-owl", "2-gecko"),
        *("3-owl", "3-gecko", "4-owl"),
    ]
    assert [text.count("[Tour ") for text in texts.values()] == [*range(9)]
    listed = opened("history")
    assert (listed.code, listed.out.count("contribution.recorded")) == (0, 6)


@pytest.mark.req("FW-012.1")
def test_a_revision_that_nothing_can_show_any_more_is_not_offered(opened, now):
    """What a restore discarded is in no later state: once pruned, it is gone."""
    acts = [("respond", "--as", "owl", "Never."), ("say", "Wait."), ("restore", "2")]
    end = play(opened, now, [*acts, *_DEBATE])
    before = [one["rev"] for one in opened("history", "--json").json()]
    assert opened(*_END, now=end).code == 0

    listed = opened("history")
    offered = [one["rev"] for one in opened("history", "--json").json()]

    assert [rev for rev in before if rev not in offered] == [3, 4]
    assert listed.err == "council: 2 revisions cannot be shown any more\n"
    assert "Never." not in "".join(texts_of(opened).values())
    gone = opened("diff", "3", "5")
    assert (gone.code, "active has no revision 3 that can be shown" in gone.err) == (5, True)


@pytest.mark.req("FW-012.1")
def test_each_revision_says_what_changed(council):
    """Also those that count what a run used, which have no event."""
    said = "cat > /dev/null; echo Yes.; echo 'usage tokens=9 usd=0.1' >> $COUNCIL_REPORT"
    program = '[agents.{}]\nargv = ["/bin/sh", "-c", "' + said.replace("'", "'") + '"]\n'
    (council.root / "council.toml").write_text(program.format("owl") + program.format("gecko"))
    done = council("convene", "A bot?", "--phases", "collect,synthesize", "--run")
    assert done.code == 0, done.err

    rows = council("history").out.splitlines()
    french = council("history", "--json").json()

    at = rows[0].index("what")
    assert all(row[at:].strip() for row in rows)
    assert "usage of a run of owl counted" in "".join(rows)
    assert any(not one["events"] for one in french)
