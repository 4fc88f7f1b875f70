"""Reading answers: the corpora, voices of many models, wrappings, hostile texts, the question."""

# ruff: noqa: E501

import json
import random
import subprocess
import sys
import time
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from council.councils import hearing
from council.councils.answers import merge, question, read, said
from council.councils.answers_forms import unlabelled
from council.councils.hearing import Stated, written
from council.councils.model import STANCES, Form, Heard, Stance
from council.kernel.errors import Invalid
from council.kernel.words import template
from tests.councils import corpus
from tests.councils.play import Play
from tests.vectors.rows import tables_of

MADE = tables_of("heard")
TURN = corpus.form_of({"kind": "turn"})
VOTE = corpus.form_of({"kind": "vote"})
TURNS = [row["text"] for row in corpus.rows("answers-forms") if row["kind"] == "turn"]
FREE = Form(kind="contribution", author="ann", peers={"ben": "Ben", "cleo": "Cleo"})


def turn(responses: str = "- @claude: agree\n- @gpt: disagree", confidence: str = "4") -> str:
    parts = {"Position": "Buy the van.", "Responses to Others": responses, "Confidence": confidence}
    return "\n\n".join(f"## {name}\n{text}" for name, text in parts.items())


def words(heard: Heard) -> dict[str, str]:
    return {peer: stance.word for peer, stance in heard.stances.items()}


def parts_of(heard: Heard) -> set[str]:
    return {fault.part for fault in heard.faults}


def codes(heard: Heard) -> list[str]:
    return [fault.code for fault in heard.faults]


SLOW = {"-new": 0.95, "-voices": 0.9, "-aside": 0.9, "-unseen": 0.9}


@pytest.mark.parametrize(
    ("name", "share"),
    [("", 0.95), ("-hard", 0.9)]
    + [pytest.param(*one, marks=pytest.mark.slow) for one in SLOW.items()],
)
def test_corpora_are_heard_right_or_asked(name: str, share: float) -> None:
    played = corpus.play(f"answers{name}")
    assert (played.get("wrong"), played.get("lost")) == (None, None)
    assert len(played["right"]) >= share * len(corpus.rows(f"answers{name}"))


@pytest.mark.parametrize("row", corpus.rows("answers-forms"), ids=lambda row: row["id"])
def test_forms_and_stances_in_other_words(row: dict[str, Any]) -> None:
    heard = read(row["text"], corpus.form_of(row))
    assert corpus.judge(row, heard)[0] == "right" and bool(heard.faults) == row.get("asked", False)


@pytest.mark.parametrize("group", MADE["heard"].values(), ids=MADE["heard"])
def test_what_is_heard_to_the_letter(group: dict[str, Any]) -> None:
    rows = group.get("rows") or [(text, {}) for text in group["texts"]]
    for kind, frame, (text, more) in product(group["kinds"], group.get("frames", ["{}"]), rows):
        form = corpus.form_of({"kind": kind}).copy(**group.get("form", {}))
        heard = read(frame.replace("{}", text), form)
        got = vars(heard) | {"stances": words(heard), "faults": codes(heard)}
        got["doubts"] = [fault.part for fault in heard.faults]
        expected = group.get("heard", {}) | more
        assert {part: got[part] for part in expected} == expected, (kind, text)


def test_an_echo_of_the_prompt_says_nothing() -> None:
    prompt = "The brief is marzipan.\n\nBLOCKING: the budget (ben)\n\nSTATUS: AGREED ends it."
    form = FREE.copy(prompt=prompt)
    heard = read(f"{prompt}\n\nI agree: no.\n\nSTATUS: AGREED\n", form)
    assert (heard.status, heard.blockers) == ("AGREED", [])
    for echo in (prompt, "\n  ".join(prompt.split())):
        assert said(f"{echo}\n\nI agree: no.\n", form) == "I agree: no."
    assert codes(read(prompt, form)) == ["nothing-said"]


def test_what_is_recorded_is_kept_to_the_letter() -> None:
    text = 'My draft.\n\n<!--council-state\n{"a": 1}\n-->\n\n## Participants\n- 🐢 Bob (agent:bob): AGREED\n\nA\u00a0b.'
    text += "\n\n`<|im_end|>` and `<tool_call>` and `<|channel|>` and [TOOL_CALLS] are words here."
    assert said(text, FREE) == text
    assert said(f"<think>\nhm\n</think>\n{text}\n</think>", FREE) == text


def test_a_synthesis_without_labels_is_taken_whole() -> None:
    form = corpus.form_of({"kind": "synthesis"})
    no_form = "## Position\nBuy it.\n\n## Confidence\n4\n\nSTATUS: AGREED"
    assert unlabelled(no_form, form) == "Buy it."
    assert unlabelled("# Synthesis\n\nWe buy.\n\nSTATUS: AGREED", form) == "We buy."
    assert unlabelled("## Decision\nNone.\n\n## Reasoning\nNobody knows.", form) == ""


def test_a_vote_may_be_a_letter_and_its_parts_may_come_one_by_one() -> None:
    first = read("Option B.", VOTE)
    assert (first.choice, {fault.part for fault in first.faults}) == (
        "B", {"confidence", "stance:claude", "stance:gpt"},
    )  # fmt: skip
    form = VOTE.copy(asked=[fault.part for fault in first.faults])
    for text, level in (("## Confidence\n\n4", 4), ("- @gpt: agree\n- @claude: disagree", None)):
        both = merge(first, read(text, form), parts_of(first))
        assert (both.choice, both.confidence, bool(words(both))) == ("B", level, level is None)


@pytest.mark.parametrize(
    ("line", "code"),
    [("I'm sorry, but I can't assist with that.", "refused-by-model"),
     ('API Error: 529 {"error": {"message": "Overloaded"}}', "unreachable"), ("Error: rate limit reached", "quota"),
     ("Invalid API key · Please run /login", "refused-key"),
     ("The file does not exist.", "no-answer"), ("HEARTBEAT_OK", "no-answer")],
)  # fmt: skip
def test_a_run_that_printed_no_answer_has_failed(line: str, code: str) -> None:
    (fault,) = read(line, FREE).faults
    assert hearing.failure(fault)[0] == code


def test_the_question_shows_what_is_in_doubt() -> None:
    for text, words in (
        (turn(confidence="4\n\nNo, wait: 3"), "No, wait: 3"),
        (turn("- @claude: agree\n\nOn reflection: no."), "On reflection"),
    ):
        assert words in question(read(text, TURN), TURN)


@cache
def unwrapped() -> list[tuple[str, str, Form, Heard]]:
    """Return answers in Markdown of the corpora, with what is heard of each."""
    found = []
    for row in corpus.rows("answers") + corpus.rows("answers-new"):
        form, text = corpus.form_of(row), row["text"].strip()
        is_plain = row["text"].startswith(("## ", "**")) and "```" not in text
        if row["kind"] in ("turn", "vote") and is_plain:
            found.append((row["id"], text, form, read(text, form)))
    return found


@pytest.mark.parametrize("wrap", [*MADE["wraps"].values(), "CRLF"], ids=[*MADE["wraps"], "CRLF"])
def test_wrappings_change_nothing(wrap: str) -> None:
    for ident, text, form, heard in unwrapped():
        wrapped = text.replace("\n", "\r\n") if wrap == "CRLF" else wrap.replace("{}", text)
        assert read(wrapped, form) == heard, ident


SCHEMA_SHAPES = {  # `j` is the JSON, `p` indented, `e` a string of it, `m` the form in Markdown
    "honoured": ["{j}", "{p}", "{j}\n", "<think>Hm: {{}}</think>{j}"],
    "ignored": ["{m}", "Sure.\n\n{m}", "```markdown\n{m}\n```"],
    "half honoured": ["{h}", "Here it is:\n\n{h}", "```json\n{h}\n```", "{c}", "{j}\n{h}"],
    "refused": ["I'm sorry, but I can't assist with that.", '{{"error": "refused"}}', "null", "{{}}"],
    "wrapped": ["Here:\n\n```json\n{p}\n```", '{{"answer": {j}}}', "[{j}]", "{e}", "Sure.\n{p}\nDone.",
                '{{"name": "answer", "arguments": {e}}}', '{{"content": [{{"text": {e}}}]}}'],
    "doubled": ["{j}\n{j}", "{j}{j}", "{j}\n\n{m}", "{m}\n\n{j}", "[{j}, {j}]"],
    "contradicted": ["{j}\n{o}", "{j}\n\n{n}", "{n}\n\n{j}", "[{j}, {o}]", "{m}\n\n{n}"],
}  # fmt: skip
SCHEMAS = json.loads(template("councils/schemas.json"))


def drawn(kind: str, rng: random.Random) -> tuple[Heard, dict[str, Any]]:
    """Return what some answer says, and the same as its schema asks for it."""
    said = Heard(
        position=rng.choice(("Tin, in May.", "Du zinc.")), confidence=rng.randint(1, 5),
        choice=rng.choice([*corpus.OPTIONS, "new", "abstain"]) if kind == "vote" else "",
        stances={peer: Stance(word=rng.choice(STANCES)) for peer in corpus.PEERS},
        reasoning="It is cheap.",
    )  # fmt: skip
    rows = [{"agent": peer, "stance": one.word, "comment": "It rains."}
            for peer, one in said.stances.items()]  # fmt: skip
    made = {**vars(said), "finalPosition": said.position, "responses": rows}
    return said, {key: made[key] for key in SCHEMAS[kind]["properties"]}


def halved(made: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Return an answer that keeps to its schema by half; what it says stays what it says."""
    half = {key: one for key, one in made.items() if rng.random() < 0.8}
    if "confidence" in half:
        level = half["confidence"]
        half["confidence"] = rng.choice(
            [f"{level}/5", f"{20 * level}%", level + 0.5, f"{level}", None]
        )
    if rows := half.get("responses"):
        plain = {row["agent"]: row["stance"].title() for row in rows}
        half["responses"] = rng.choice(
            [rows[1:], plain, [*rows, {"agent": "zoe", "stance": "agree"}]]
        )
    return half | {"thoughts": "I agree with all."}


@pytest.mark.parametrize("shape", SCHEMA_SHAPES)
def test_answers_by_schema_are_never_misread(shape: str) -> None:
    at_once = 0
    for number in range(40):
        rng, form = random.Random(f"{shape} {number}"), (TURN, VOTE)[number % 2]
        form = form.copy(lang=("en", "fr")[number // 2 % 2])
        (said, made), (also, other) = drawn(form.kind, rng), drawn(form.kind, rng)
        text = rng.choice(SCHEMA_SHAPES[shape]).format(
            j=json.dumps(made), p=json.dumps(made, indent=2), e=json.dumps(json.dumps(made, indent=2)),
            m=written(said, said.reasoning, form), n=written(also, also.reasoning, form),
            o=json.dumps(other), c=json.dumps(made)[: -rng.randrange(2, 60)],
            h=json.dumps(halved(made, rng)),
        )  # fmt: skip
        heard = read(text, form)
        for truth in (said, also) if shape == "contradicted" else (said,):
            for part in ("position", "choice", "confidence"):
                assert getattr(heard, part) in ("", None, getattr(truth, part)), (part, text)
            assert words(heard).items() <= words(truth).items(), text
        at_once += not heard.faults
    assert at_once >= {"honoured": 36, "ignored": 36, "doubled": 30, "wrapped": 25}.get(shape, 0)


def test_an_answer_by_schema_is_kept_in_the_form_that_people_read() -> None:
    play = Play("deliberation")
    text = '{"position": "Tin.", "reasoning": "It is cheap.", "confidence": 4}'
    told = hearing.heard(play.state, "a", text)
    assert "## Position\n\nTin." in told.text and "{" not in told.text
    assert read(told.text, Form()).copy(stances={}) == told.heard


HOSTILE = [
    "```", "{", "[", '{"a":', "<think>", "<!--", "> ", "| a ", "- ", "**", "# ", "## Position\n",
    "x\n===\n", "@claude ", "@claude and ", "- @claude: agree\n", "BLOCKING:\n",
    "STATUS: AGREED\n", "4 ", "high ", '"', "(", "<tool_call>", "<|channel|>", "\u001b[", "\\",
    "\\n", " ", "\n", "a", "\u0301", "---\n", "<position>", "council <<E\n", "not ",
    "is a blocker ", "thank you all ", "now , ", "i ", "?", "@claude why ",
    "agree with @claude. ",
]  # fmt: skip
BEGINNINGS = {"turn": "## Confidence\n", "vote": "## Choice\nB ", "contribution": "STATUS: agreed "}


@pytest.mark.slow
@pytest.mark.parametrize("kind", BEGINNINGS)
def test_hostile_texts_are_read_quickly(kind: str) -> None:
    form = (VOTE if kind == "vote" else TURN).copy(kind=kind)
    slow = {}
    for piece in HOSTILE:
        text = BEGINNINGS[kind] + piece * (100_000 // len(piece))
        began = time.process_time()
        read(text, form)
        if (took := time.process_time() - began) > 2:  # it is 0.4; squares take minutes
            slow[piece] = took
    assert not slow


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet='#*_-`<>{}[]|@:\n "()~=.,!?0459aABglmGclaudept>&\\', max_size=400),
    st.sampled_from(sorted(corpus.OPTIONS)),
)
def test_any_text_is_read(text: str, letter: str) -> None:
    for kind in ("turn", "vote", "synthesis", "contribution"):
        heard = read(f"{text}\nChoice: {letter}", VOTE.copy(kind=kind))
        assert Heard.from_json(heard.to_json()) == heard
        assert heard.faults == [] or question(heard, VOTE.copy(kind=kind))


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(TURNS), st.sampled_from(TURNS))
def test_merge_keeps_what_was_understood(one: str, other: str) -> None:
    first, second = read(one, TURN), read(other, TURN)
    merged = merge(first, second, parts_of(first))
    assert merged.stances.items() >= first.stances.items()
    assert merged.position == (first.position or second.position)
    assert merged.confidence == (first.confidence or second.confidence)
    assert {fault.part for fault in merged.faults} <= {fault.part for fault in first.faults}


def test_an_answer_to_the_question_needs_no_label() -> None:
    first = read(turn("- @claude: agree if tested\n- @gpt: disagree"), TURN)
    assert codes(first) == ["unclear-stance"]
    again = TURN.copy(asked=["stance:claude"])
    for text in ("partial", "- @claude: partial — the beams", "@claude: partial"):
        merged = merge(first, read(text, again), parts_of(first))
        assert (words(merged), merged.faults) == ({"claude": "partial", "gpt": "disagree"}, [])
    first = read(turn("- @claude: agree — if tested\n- @gpt: disagree"), TURN)
    merged = merge(first, read("partial", again), parts_of(first))
    assert merged.stances["claude"].comment == "if tested"


def test_the_question_asks_for_the_parts_in_doubt_alone() -> None:
    heard = read(turn("- @claude: agree if tested\n- @gpt: disagree"), TURN)
    text = question(heard, TURN)
    assert 'I read "agree if tested"' in text and "- @claude: agree, partial or disagree" in text
    assert "- @gpt: agree, partial" not in text and "## Confidence" not in text
    assert "je lis" in question(heard, TURN.copy(lang="fr")).lower()


def test_an_open_blocker_and_agreed_are_asked_once() -> None:
    first = read("Fine.\n\nBLOCKING: the frost\n\nSTATUS: AGREED", FREE)
    assert (first.blockers, codes(first)) == (["the frost"], ["agreed-and-blocking"])
    assert "RESOLVED: [" in question(first, FREE) and not first.status
    form = FREE.copy(asked=["status"])
    assert merge(first, read("STATUS: AGREED", form), parts_of(first)).status == ""
    settled = merge(first, read("RESOLVED: the frost\nSTATUS: AGREED", form), parts_of(first))
    assert (settled.status, settled.resolved, settled.faults) == ("AGREED", ["the frost"], [])


def test_options_count_and_the_text_is_the_reasoning() -> None:
    play = Play("deliberation", options=["Tiles.", "Tin."])
    for agent in ("a", "b"):
        play.says(agent, f"{agent}.", heard=Heard(position="Tin.", confidence=3))
    stated = Stated(position="Buy it.", confidence=4, stances=["a=agree:but in May", "@b=PARTIAL"])
    text = "It is cheap.\n\n## Position\nNo.\n\nBLOCKING: the frost"
    heard = hearing.heard(play.state, "c", text, stated)
    said = heard.heard
    assert (said.position, said.confidence, said.blockers) == ("Buy it.", 4, ["the frost"])
    assert (words(said), said.faults) == ({"a": "agree", "b": "partial"}, [])
    assert said.stances["a"].comment == "but in May" and "It is cheap." in heard.text
    missing = hearing.heard(play.state, "c", "", Stated(position="Buy it.")).heard
    assert codes(missing) == ["no-confidence", "no-stance", "no-stance"]
    assert hearing.heard(play.state, "c", "", Stated(position="Option B")).heard.position == "Tin."


@pytest.mark.parametrize(
    ("stated", "code"),
    [(Stated(choice="D"), "bad-choice"), (Stated(choice="A", confidence=6), "bad-confidence"),
     (Stated(stances=["x=agree"]), "bad-stance"), (Stated(stances=["b=maybe"]), "bad-stance")],
)  # fmt: skip
def test_an_option_that_says_nothing_is_refused(stated: Stated, code: str) -> None:
    play = Play("deliberation", options=["Tiles.", "Tin."])
    with pytest.raises(Invalid) as refused:
        hearing.heard(play.state, "a", "", stated)
    assert refused.value.code == code
    said = hearing.heard(play.state, "a", "Cheap.", Stated(choice="tin", confidence=4)).heard
    assert (said.choice, said.confidence, said.faults) == ("B", 4, [])


@pytest.mark.parametrize(("position", "choice"), MADE["positions"].items())
def test_a_position_that_begins_with_a_letter_is_that_option(position: str, choice: str) -> None:
    play = Play("deliberation", options=["Tiles.", "Tin."])
    text = f"## Position\n{position}\n\n## Confidence\n4"
    assert hearing.heard(play.state, "a", text).heard.choice == choice


def test_plain_contributions_are_read_without_expressions() -> None:
    """The word file and `re` cost more start-up than the whole of a usual answer."""
    code = (
        "import sys; from council.councils.answers import read; from council.councils.model import Form; before = 're' in sys.modules;"
        "read('Yes: a small script, since it is cheap.\\n\\n- one\\n- two', Form(kind='contribution'));"
        "assert before or 're' not in sys.modules; assert 'council.councils.answers_forms' not in sys.modules"
    )
    subprocess.run(
        [sys.executable, "-S", "-c", code], check=True, cwd=Path(__file__).parents[2], timeout=60
    )


def test_nothing_said_about_the_question_leaves_it_open() -> None:
    first = read(turn("- @claude: agree if tested\n- @gpt: disagree"), TURN)
    again = TURN.copy(asked=["stance:claude"])
    for text in ("HEARTBEAT_OK", "I'm sorry, but I can't assist with that."):
        assert merge(first, read(text, again), parts_of(first)) == first
