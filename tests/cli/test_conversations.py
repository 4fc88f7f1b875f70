"""The commands on a conversation, each once as people and as programs call it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from council.store.agents import default_emoji
from tests.cli.commands import tree

LIVE = "memory/shared/council-active-conversation.md"


def block_of(file: Path) -> dict:
    """Return the state block as it stands in a conversation's file."""
    text = file.read_text().split("<!--council-state", 1)[1]
    return json.loads(text[text.index("{") : text.rindex("}") + 1])


# convene


def test_convene_tells_what_it_opened(council, now):
    words = ("--agents", "owl,gecko", "--role", "owl=Sceptic", "--model", "gecko=g-1")
    made = council("convene", "A bot?", *words, "--json", now=now).json()
    state = council("show", "--json", now=now).json()

    assert made["name"] == "active"
    assert made["conversationId"] == state["conversationId"]
    assert made["participants"] == ["owl", "gecko"]
    assert sorted(made["woken"]) == ["gecko", "owl"]
    assert Path(made["path"]) == council.root / LIVE
    assert made["dryRun"] is False
    assert state["participants"]["owl"]["role"] == "Sceptic"
    assert state["participants"]["gecko"]["model"] == "g-1"


def test_a_dry_run_shows_runs_and_prompts_and_opens_nothing(council, now):
    assert council("init", "--agents", "owl,gecko").code == 0
    before = sorted(tree(council.root))

    planned = council("convene", "A bot?", "--dry-run", "--json", now=now)

    assert planned.json()["dryRun"] is True
    assert planned.json()["runs"] == 7
    assert set(planned.json()["promptChars"]) == {"owl", "gecko"}
    assert min(planned.json()["promptChars"].values()) > 500
    assert "7 runs" in council("convene", "A bot?", "--dry-run", now=now).out
    assert council("list", "--json").json() == []
    left = {name for name in set(tree(council.root)) - set(before) if "/.council/" not in name}
    assert left == set()


def test_convene_with_run_stays_until_the_minutes_are_written(council):
    said = '[agents.{}]\nargv = ["/bin/sh", "-c", "cat > /dev/null; echo Yes."]\n'
    (council.root / "council.toml").write_text(said.format("owl") + said.format("gecko"))

    done = council("convene", "A bot?", "--phases", "collect,synthesize", "--run", "--json")

    assert done.code == 0
    assert Path(done.json()["minutes"]).is_file()
    assert council("list", "--json").json() == []


@pytest.mark.req("C0-005")
def test_convene_takes_the_five_modes_and_ends_with_2_for_any_other(council):
    for mode in ("debate", "prd", "analysis", "review", "synthesis"):
        words = ("--agents", "owl,gecko", "--mode", mode, "--name", mode)
        assert council("convene", "A bot?", *words).code == 0
        assert council("show", mode, "--json").json()["mode"] == mode
    words = ("--agents", "owl,gecko", "--name", "none", "--mode")
    for mode in ("quarrel", "Debate2", "discussion"):
        refused = council("convene", "A bot?", *words, mode)
        assert refused.code == 2
        assert mode in refused.err
    assert len(council("list", "--json").json()) == 5


@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["--agents", "owl"], 2, "two"),
        (["--agents", "owl,owl"], 2, "owl"),
        (["--mode", "quarrel"], 2, "debate"),
        (["--procedure", "duel"], 2, "council"),
        (["--phases", "collect,fight"], 2, "RESOLVE"),
        (["--timeout", "soon"], 2, "soon"),
        (["--role", "owl"], 2, "--role"),
        (["--role", "stranger=Boss"], 2, "stranger"),
        (["--name", "../up"], 3, "../up"),
        (["--agents", "owl,Gecko Bird"], 3, "Gecko Bird"),
        (["--brief", "b", "--brief-file", "-"], 2, "twice"),
        (["--brief-file", "-"], 3, "empty"),
        (["--brief-file", "/no/such/file"], 3, "/no/such/file"),
        (["--cwd", "/no/such/folder"], 5, "/no/such/folder"),
    ],
)
def test_convene_refuses_in_one_line_and_opens_nothing(council, words, code: int, named: str):
    agents = [] if "--agents" in words else ["--agents", "owl,gecko"]

    refused = council("convene", "A bot?", *agents, *words, "--json")

    assert refused.code == code
    assert named in refused.err
    assert refused.err.count("\n") == 1
    assert set(refused.json()) == {"error"}
    assert council("list", "--json").json() == []


@pytest.mark.parametrize("topic", ["", "  ", "x" * 301, os.fsdecode(b"caf\xe9")])
def test_a_topic_that_cannot_be_kept_exits_3(council, topic: str):
    refused = council("convene", topic, "--agents", "a,b")

    assert refused.code == 3
    assert "topic" in refused.err


def test_a_name_that_is_taken_exits_4(opened, now):
    before = (opened.root / LIVE).read_bytes()

    refused = opened("convene", "Another?", "--name", "active", "--json", now=now)

    assert refused.code == 4
    assert "--name" in refused.err
    assert (opened.root / LIVE).read_bytes() == before


def test_the_brief_comes_byte_for_byte_from_a_file_or_standard_input(council, now):
    brief = "# Brief\r\n\n```\n<!--council-state\n{}\n-->\n```\nÉté\n"
    for name, given in (("one", council.root / "brief.md"), ("two", "-")):
        (council.root / "brief.md").write_bytes(brief.encode())
        words = ("--name", name, "--agents", "a,b", "--brief-file", given)
        assert council("convene", "t", *words, stdin=brief, now=now).code == 0
        assert council("show", name, "--json", now=now).json()["brief"] == brief


# show


@pytest.mark.req("C0-014")
def test_show_json_holds_every_key_of_the_block_and_the_texts(opened, now):
    assert opened("respond", "Yes.", "--as", "owl", now=now).code == 0
    assert opened("respond", "No.", "--as", "gecko", "--status", "agreed", now=now).code == 6
    assert opened("respond", "No.", "--as", "gecko", now=now).code == 0
    assert opened("heartbeat", now=now).code == 0  # whatever the last answer began is done then

    shown = opened("show", "--json", now=now).json()

    block = block_of(opened.root / LIVE)
    assert {key: shown[key] for key in block} == block
    assert shown["topic"] == shown["brief"] == "Shall we build a weather bot?"
    assert shown["late"] == []
    assert {one["agent"]: one["text"] for one in shown["contributions"]} == {
        "owl": "Yes.",
        "gecko": "No.",
    }
    assert {(one["phase"], one["tour"]) for one in shown["contributions"]} == {("COLLECT", 1)}
    assert all(one["at"] == "2026-02-08T20:00:00Z" for one in shown["contributions"])
    assert json.loads(opened("show", "--format", "json", now=now).out) == shown


def test_show_hides_marks_and_sealed_answers_from_people(opened, now):
    assert opened("respond", "My secret position.", "--as", "owl", now=now).code == 0

    shown = opened("show", now=now).out

    assert shown.startswith("# ")
    assert "<!--council" not in shown
    assert "secret position" not in shown
    assert "secret position" not in opened("show", "--json", now=now).out
    assert opened("show", "--format", "pdf").code == 2


# Steering


def steered(council, *words: str, now) -> dict:
    done = council(*words, "--json", now=now)
    assert done.code == 0, done.err
    return done.json()


def test_pause_resume_and_extend_tell_where_the_conversation_stands(opened, now):
    paused = steered(opened, "pause", now=now)
    again = steered(opened, "pause", now=now)
    resumed = steered(opened, "resume", now="2026-02-08T20:30:00Z")
    extended = steered(opened, "extend", "2h30m", now="2026-02-08T20:30:00Z")

    assert (paused["paused"], paused["changed"], again["changed"]) == (True, True, False)
    assert (resumed["paused"], resumed["timeoutAt"]) == (False, "2026-02-08T21:30:00Z")
    assert extended["timeoutAt"] == "2026-02-09T00:00:00Z"
    assert opened("status", now="2026-02-08T20:30:00Z").out.count("3h30m left") == 1


@pytest.mark.req("HR-025")
def test_guidance_reaches_all_and_says_whom_it_is_for(opened, now):
    assert opened("inject", "Think of the cost.", now=now).code == 0
    assert opened("inject", "-", "--to", "owl", stdin="Owl, answer.", now=now).code == 0

    owl = opened("context", "--as", "owl", now=now).out
    gecko = opened("context", "--as", "gecko", now=now).out

    assert "Think of the cost." in owl
    assert "Think of the cost." in gecko
    assert "| for you]]\nOwl, answer." in owl
    assert "| for @owl]]\nOwl, answer." in gecko
    assert opened("inject", "x", "--to", "stranger", now=now).code == 6


def test_only_what_has_the_form_of_a_context_or_a_task_is_taken_for_one(opened, now):
    name, task = (opened("say", "--to", to, "Hello.", now=now) for to in ("TEA", "T3"))

    assert (name.code, task.code) == (5, 5)
    assert "nothing open is called 'TEA'" in name.err
    assert "no open task 'T3'" in task.err


@pytest.mark.req("OP-011")
def test_what_is_said_to_a_council_that_is_over_is_refused_with_where_its_minutes_lie(council, now):
    for name in ("c06", "c07", "c08"):
        assert (
            council("convene", "Tea?", "--agents", "owl,gecko", "--name", name, now=now).code == 0
        )
    assert council("cancel", "--name", "c07", now=now).code == 0
    (minutes,) = (council.root / "conseils").glob("*.md")

    late = council("say", "One word more.", "--to", "c07", now=now)
    unknown = council("say", "One word more.", "--to", "c09", now=now)

    assert late.code == 5
    assert f"the conversation 'c07' is over; its minutes: {minutes}" in late.err
    assert "several conversations are open" in unknown.err


def test_guidance_by_nobody_s_legal_name_is_refused_and_breaks_nothing(opened, now):
    assert opened("inject", "x", "--as", "two words", now=now).code == 3

    assert opened("check", now=now).code == 0
    assert opened("inject", "x", "--as", "owl", now=now).code == 0


def test_stop_goes_to_the_synthesis_and_cancel_ends_without_one(council, now):
    for name in ("one", "two"):
        words = ("--name", name, "--agents", "owl,gecko", "--synthesizer", "owl")
        assert council("convene", "A bot?", *words, now=now).code == 0
        assert council("respond", "Yes.", "--as", "owl", "--name", name, now=now).code == 0

    stopped = steered(council, "stop", "--name", "one", now=now)
    cancelled = steered(council, "cancel", "--name", "two", now=now)
    archived = steered(council, "archive", "--name", "one", now=now)

    assert stopped["phase"] == "SYNTHESIZE"
    assert "Yes." in Path(cancelled["minutes"]).read_text()
    beside = Path(cancelled["minutes"]).with_suffix(".json")
    assert '"closed_reason": "cancelled"' in beside.read_text()
    assert Path(archived["minutes"]).is_file()
    assert archived["minutes"] != cancelled["minutes"]
    assert council("list", "--json", now=now).json() == []
    assert council("stop", "--name", "one", now=now).code == 5


# list


def test_list_finds_what_is_open_and_what_is_archived(opened, now):
    words = ("--name", "tea", "--agents", "owl,gecko", "--brief", "Green or black?")
    assert opened("convene", "What shall we drink?", *words, now=now).code == 0
    assert opened("cancel", "--name", "tea", now=now).code == 0

    assert [one["name"] for one in opened("list", "--json", now=now).json()] == ["active"]
    assert opened("list", "--search", "weather BOT", "--json", now=now).json() != []
    assert opened("list", "--search", "weather tea", "--json", now=now).json() == []
    (minutes,) = opened("list", "--archived", "--json", now=now).json()
    assert minutes["name"] == "tea"
    (found,) = opened("list", "--archived", "--search", "green", "--json").json()
    assert found == {**minutes, "hits": 1, "snippet": "Green or black?"}
    assert opened("list", "--archived", "--search", "weather", "--json").json() == []
    assert "conseils/2026-02-08-" in opened("list", "--archived").out


def test_list_goes_on_past_a_broken_file(opened, now):
    broken = opened.root / "memory" / "shared" / "council-broken-conversation.md"
    broken.write_text("nothing of ours")

    seen = opened("list", "--json", now=now)

    assert [one["name"] for one in seen.json()] == ["active"]
    assert "broken" in seen.err


# history, restore, adopt, check


def test_history_tells_what_was_done_and_restore_undoes_it(opened, now):
    assert opened("extend", "1h", now=now).code == 0
    rows = opened("history", "--json", now=now).json()
    assert [one["rev"] for one in rows] == [1, 2, 3]
    assert rows[-1]["actor"] == "person"
    assert [one["type"] for one in rows[-1]["events"]] == ["deadline.extended"]

    restored = steered(opened, "restore", "2", now=now)
    assert restored["timeoutAt"] == "2026-02-08T21:00:00Z"
    assert len(opened("history", "--json", now=now).json()) == 4

    for wrong, code in (("99", 5), ("0", 5), ("two", 2)):
        assert opened("restore", wrong, now=now).code == code


def test_a_revision_that_is_not_there_is_missed_by_the_name_of_its_conversation(opened, now):
    refused = opened("restore", "99", now=now)

    assert refused.err == (
        "council: active has no revision 99 (see: council history --name active)\n"
    )


def test_history_finds_a_conversation_that_is_over_by_its_name(opened, now):
    assert opened("cancel", now=now).code == 0

    rows = opened("history", "--name", "active", "--json", now=now).json()

    assert "conversation.cancelled" in [one["type"] for one in rows[-1]["events"]]
    nobody = opened("history", "--name", "nobody", now=now)
    assert (nobody.code, "nobody" in nobody.err) == (5, True)


def test_adopt_takes_a_changed_contribution_that_any_other_command_would_put_back(council, now):
    assert council("convene", "A bot?", "--agents", "owl,gecko", "--open", now=now).code == 0
    assert council("respond", "Yes, at once.", "--as", "owl", now=now).code == 0
    file = council.root / LIVE

    def edited_then(command: str) -> list[str]:
        file.write_text(file.read_text().replace("Yes, at once.", "Yes, in time."))
        assert council(command, now=now).code == 0
        return [one["text"] for one in council("show", "--json", now=now).json()["contributions"]]

    assert edited_then("heartbeat") == ["Yes, at once."]
    assert edited_then("adopt") == ["Yes, in time."]


def test_check_finds_a_well_formed_file_well_and_names_each_fault(opened, now):
    well = opened("check", "--json", now=now)
    assert (well.code, well.json()["ok"], well.json()["findings"]) == (0, True, [])

    file = opened.root / LIVE
    file.write_text(file.read_text().replace('"COLLECT"', '"QUARREL"'))
    bad = opened("check", "--json", now=now)

    assert bad.code == 3
    assert "QUARREL" in bad.out + bad.err
    assert bad.err.startswith("council: ")


def test_check_says_in_words_what_becomes_of_an_edit(opened, now):
    file = opened.root / LIVE
    text = file.read_text().replace("Shall we build a weather bot?\n<!--", "Beer?\n<!--")
    file.write_text(text.replace("- Mode: debate", "- Mode: prd"))

    looked = opened("check", "--json", now=now).json()

    assert looked["notices"] == ["with the next command: accepted: mode: debate → prd"]
    assert looked["findings"] == [
        "with the next command: restored: the brief; nobody changes it after the start"
    ]


# context, prompt


def test_context_gives_the_prompt_or_its_parts(opened, now):
    prompt = opened("context", "--as", "owl", now=now).out
    parts = opened("context", "--as", "owl", "--json", now=now).json()
    printed = opened("prompt", "turn", "--as", "owl", "--json", now=now).json()

    assert "COLLECT" in prompt
    assert (parts["phase"], parts["tour"], parts["agent"]) == ("COLLECT", 1, "owl")
    assert parts["task"] in prompt
    assert printed["kind"] == "turn"
    assert printed["prompt"].rstrip("\n") == prompt.rstrip("\n")
    assert opened("prompt", "speech", "--as", "owl", now=now).code == 2
    french = opened("prompt", "synthesis", "--as", "owl", "--lang", "fr", now=now)
    assert french.code == 0
    assert french.out != opened("prompt", "synthesis", "--as", "owl", now=now).out


def test_no_two_participants_share_an_avatar_that_they_did_not_choose(council):
    """Ten people without a page: by their ids alone some of them would have the same one."""
    people = [f"person{number}" for number in range(10)]
    assert len({default_emoji(one) for one in people}) < len(people)
    own = council.root / "memory" / "agents" / "zoe" / "SOUL.md"
    own.parent.mkdir(parents=True)
    own.write_text(f"---\nname: Zoe\nemoji: {default_emoji('person0')}\n---\n", encoding="utf-8")
    (council.root / "council.toml").write_text(
        f'[agents.yan]\nemoji = "{default_emoji("person0")}"\n', encoding="utf-8"
    )
    named = ",".join([*people, "zoe", "yan"])

    assert council("convene", "Tea?", "--agents", named, "--people", ",".join(people)).code == 0

    shown = council("show", "--json").json()["participants"]
    chosen = default_emoji("person0")
    assert shown["zoe"]["emoji"] == shown["yan"]["emoji"] == chosen  # chosen by people
    drawn = [shown[one]["emoji"] for one in people]
    assert len({chosen, *drawn}) == 1 + len(people)
