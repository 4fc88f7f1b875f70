"""What takes a name takes it, the id, a beginning, the path of minutes, a part of the title."""

from __future__ import annotations

import os

import pytest

from tests.cli.commands import tree

DAY = "2026-03-02"


def convene(council, topic: str, name: str, now: str) -> None:
    done = council("convene", topic, "--name", name, "--agents", "owl,gecko", "--open", now=now)
    assert done.code == 0, done.err


def end(council, name: str, now: str) -> None:
    assert council("respond", "--name", name, "--as", "owl", "Yes.", now=now).code == 0
    assert council("cancel", "--name", name, now=now).code == 0


@pytest.fixture
def several(council):
    """Two councils that are over, of which the second is a deliberation, and two that are open."""
    convene(council, "Which database for orders?", "orders", f"{DAY}T09:00:00Z")
    end(council, "orders", f"{DAY}T09:10:00Z")
    convene(council, "Which queue for mails?", "mails", f"{DAY}T10:00:00Z")
    end(council, "mails", f"{DAY}T10:10:00Z")
    convene(council, "Where do we meet in May?", "meeting", f"{DAY}T11:00:00Z")
    assert council("say", "Hello.", "--to", "meeting", now=f"{DAY}T11:10:00Z").code == 0
    convene(council, "What do we plant?", "roof-garden", f"{DAY}T12:00:00Z")
    return council


def ways_to_minutes(council) -> list[str]:
    """Return every way to name the minutes on orders."""
    path = council.root / "conseils" / f"{DAY}-which-database-for-orders.md"
    (row,) = council("list", "--archived", "--search", "orders?", "--json").json()
    conversation = row["conversation"]
    return [
        *("orders", "ORDERS", "ord", conversation, conversation[:9]),
        *(f"{DAY}-which-database-for-orders", "which-database-for-orders", "which-d"),
        *(str(path), str(path.with_suffix("")), f"conseils/{path.name}", path.name),
        *(f"conseils/{path.stem}", "Which database for orders?", "database FOR", "for  orders"),
    ]


MINUTES_COMMANDS = [
    "show {}",
    "show --section brief {}",
    "show --at 1 {}",
    "history {}",
    "diff 1 2 --name {}",
    "rate {} 4",
    "explain {}",
    "events story {}",
]


@pytest.mark.req("FW-007.2")
@pytest.mark.parametrize("command", MINUTES_COMMANDS)
def test_a_command_on_minutes_takes_every_way_to_name_them(several, command):
    first, *others = [
        several(*[way if word == "{}" else word for word in command.split()])
        for way in ways_to_minutes(several)
    ]

    assert first.code == 0, first.err
    for way, done in zip(ways_to_minutes(several)[1:], others, strict=True):
        assert done.code == 0, f"{way}: {done.err}"
        if not command.startswith("rate"):
            assert done.out == first.out, way


OPEN_COMMANDS = [
    ("pause --name {}", "resume --name meeting"),
    ("extend 1h --name {}", ""),
    ("check {}", ""),
    ("inject Hello. --name {}", ""),
    ("say Hello. --to {}", ""),
    ("status {}", ""),
    ("show {}", ""),
    ("history {}", ""),
    ("diff 1 2 --name {}", ""),
    ("explain {}", ""),
    ("events story {}", ""),
    ("restore 2 --name {}", ""),
]


@pytest.mark.req("FW-007.2")
@pytest.mark.parametrize(("command", "after"), OPEN_COMMANDS)
def test_a_command_on_what_is_open_takes_every_way_to_name_it(several, command, after):
    conversation = several("show", "meeting", "--json").json()["conversationId"]
    for way in ("meeting", "Meeting", "meet", conversation, conversation[:9], "we meet in may"):
        done = several(*[way if word == "{}" else word for word in command.split()])
        assert done.code == 0, f"{way}: {done.err}"
        assert several(*after.split()).code == 0 if after else True


@pytest.mark.req("FW-007.2")
@pytest.mark.parametrize(
    "command",
    ["show {}", "history {}", "diff 1 2 --name {}", "explain {}", "rate {} 4", "purge {}"],
)
def test_what_fits_several_is_refused_with_title_date_and_a_name_for_each(several, command):
    done = several(*["which " if word == "{}" else word for word in command.split()])

    assert done.code == 2
    head, *lines = done.err.splitlines()
    assert head.startswith("council: 'which ' fits 2 conversations (say which, such as 2026-03-02-")
    assert lines == [
        f"council: {DAY}-which-queue-for-mails: Cancelled: Which queue for mails? ({DAY} 10:10)",
        f"council: {DAY}-which-database-for-orders: Cancelled: Which database for orders?"
        f" ({DAY} 09:10)",
    ]
    for line in lines:
        key = line.split()[1].rstrip(":")
        assert several("show", key).code == 0


@pytest.mark.req("FW-007.2")
def test_of_what_is_open_and_what_is_over_a_word_may_mean_either(several):
    done = several("show", "we")
    assert (done.code, "meeting" in done.err, "roof-garden" in done.err) == (2, True, True)
    for command in ("show", "history"):
        both = several(command, "for orders or we")
        assert (both.code, "are called 'for orders or we'" in both.err) == (5, True)
    assert several("pause", "--name", "roof").code == 0


@pytest.mark.req("FW-007.2")
def test_a_name_that_is_over_never_means_another_that_begins_so(several):
    """An answer must not land in another council."""
    convene(several, "Orders again?", "orders-2", f"{DAY}T13:00:00Z")

    late = several("respond", "--name", "orders", "--as", "owl", "Mine.")

    assert late.code == 5
    assert several("show", "orders-2", "--json").json()["contributions"] == []
    assert "Which database" in several("show", "orders").out


@pytest.mark.req("FW-007.2")
def test_inside_a_run_nothing_is_widened(several):
    conversation = several("show", "meeting", "--json").json()["conversationId"]
    run = {
        "COUNCIL_ROOT": str(several.root),
        "COUNCIL_NAME": "meeting",
        "COUNCIL_AGENT": "owl",
        "COUNCIL_TASK_ID": f"{conversation}.1.owl.1",
    }
    assert several("show", "mails", env=run).code == 0
    for way in ("mail", "queue for mails", "meet", "may?"):
        assert several("show", way, env=run).code != 0


@pytest.mark.req("FW-007.2")
def test_purge_says_what_it_took_a_part_of_a_name_for_and_removes_nothing_unasked(several):
    before = tree(several.root / "conseils")
    asked = several("purge", "database for")
    assert (asked.code, asked.err) == (
        2,
        f"council: this removes {DAY}-which-database-for-orders"
        f" (Cancelled: Which database for orders?, ended {DAY} 09:10) for good"
        " (to do it without being asked: --yes)\n",
    )
    for part in ("database for", "which-d"):
        refused = several("purge", part, "--yes")
        assert refused.code == 2
        assert f"give its whole name: {DAY}-which-database-for-orders" in refused.err
    assert tree(several.root / "conseils") == before

    done = several("purge", f"{DAY}-which-database-for-orders", "--yes")
    assert done.code == 0, done.err
    assert not os.path.exists(several.root / "conseils" / f"{DAY}-which-database-for-orders.md")


@pytest.mark.req("FW-007.2")
def test_of_several_that_had_one_name_purge_names_each_by_title_and_date(council):
    for hour in ("09", "10"):
        convene(council, f"Tea at {hour}?", "active", f"{DAY}T{hour}:00:00Z")
        end(council, "active", f"{DAY}T{hour}:10:00Z")

    refused = council("purge", "active", "--yes")

    assert refused.code == 2
    assert f"{DAY}-tea-at-10: Cancelled: Tea at 10? ({DAY} 10:10)" in refused.err
    assert f"{DAY}-tea-at-09: Cancelled: Tea at 09? ({DAY} 09:10)" in refused.err


@pytest.mark.req("FW-007.2")
def test_gc_names_what_it_prunes_by_minutes_and_title(several):
    done = several("gc", "--older-than", "1s", "--dry-run", now=f"{DAY}T20:00:00Z")

    assert f"{DAY}-which-database-for-orders (Cancelled: Which database for orders?): would" in (
        done.out
    )
    told = several("gc", "--older-than", "1s", "--dry-run", "--json", now=f"{DAY}T20:00:00Z").json()
    assert {one["title"] for one in told["conversations"]} == {
        "Cancelled: Which database for orders?",
        "Cancelled: Which queue for mails?",
    }
