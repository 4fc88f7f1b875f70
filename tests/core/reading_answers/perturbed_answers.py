"""Answers with a known meaning, in the many forms in which models write them.

`make(seed)` builds one: parts with a meaning, set in a form, perturbed several
times. A perturbation that changes the meaning says what it is now. Some parts
may be unclear afterwards: then nothing may be read.

    python -m tests.core.reading_answers.perturbed_answers [HOW MANY]
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from benchmarks.answer_readers import PEERS, read_turn

POSITIONS = (
    "Adopt a monorepo for the shared libraries first.",
    "Keep the polyrepo until the build cache works.",
    "Ship in March. The tests need six more weeks.",
    "Do not ship on Friday.",
    "Rent the hall for two evenings, not for three.",
    "Nous devrions attendre une saison.",
    "Wir behalten den alten Server noch ein Jahr.",
    "Debemos empezar con un proyecto pequeño.",
)
REASONS = (
    "Five pull requests for one change are too many. The cache halves the time of a build.",
    "The figures of last year show 40 requests a second at most.",
    "Two teams have tried it. Both went back after 3 weeks.",
    "La saison dernière a coûté 12 000 euros.",
)
COMMENTS = (
    "the figures of last year are on file",
    "The cache halves the time of a build.",
    "two teams have tried it",
    "it costs 40 euros a month",
    "see my first paragraph",
    "",
)
LABELS = {
    "en": ("Position", "Responses to Others", "Reasoning", "Confidence"),
    "fr": ("Position", "Réponses aux autres", "Raisonnement", "Confiance"),
    "de": ("Position", "Antworten an die anderen", "Begründung", "Zuversicht"),
    "es": ("Posición", "Respuestas a los demás", "Razonamiento", "Confianza"),
}
STANCES = {
    "en": {
        "agree": ("agree", "Agree", "AGREE", "agreed", "strongly agree", "fully agree", "I agree"),
        "partial": ("partial", "Partial", "partly agree", "partially agree", "partially"),
        "disagree": ("disagree", "Disagree", "I disagree", "respectfully disagree"),
    },
    "fr": {
        "agree": ("d'accord", "accord", "D’accord", "je suis d'accord", "tout à fait d'accord"),
        "partial": ("en partie", "partiel", "partiellement d'accord", "en partie d'accord"),
        "disagree": ("pas d'accord", "désaccord", "en désaccord", "je ne suis pas d'accord"),
    },
    "de": {
        "agree": ("einverstanden", "Zustimmung", "stimme zu", "ich stimme zu"),
        "partial": ("teilweise", "teilweise einverstanden", "stimme teilweise zu"),
        "disagree": ("nicht einverstanden", "Ablehnung", "stimme nicht zu", "lehne ab"),
    },
    "es": {
        "agree": ("de acuerdo", "estoy de acuerdo", "totalmente de acuerdo"),
        "partial": ("parcialmente de acuerdo", "en parte", "parcial"),
        "disagree": ("en desacuerdo", "no estoy de acuerdo", "desacuerdo"),
    },
}
# Words that deny: what is left is the opposite, or unclear (None).
DENIED = {
    "en": {
        "do not agree": "disagree",
        "don't agree": "disagree",
        "cannot agree": "disagree",
        "no longer agree": "disagree",
        "not agree": "disagree",
        "do not fully agree": "partial",
        "do not disagree": None,
        "neither agree nor disagree": None,
        "agree or disagree": None,
        "would agree if the tests passed": None,
        "agreed before, disagree now": "disagree",
    },
    "fr": {
        "pas du tout d'accord": "disagree",
        "plus d'accord": None,
        "ni d'accord ni pas d'accord": None,
        "pas entièrement d'accord": "partial",
    },
    "de": {"keineswegs einverstanden": "disagree", "weder noch": None},
    "es": {"ya no estoy de acuerdo": "disagree", "nada de acuerdo": "disagree"},
}
EMOJI = {"agree": "✅", "partial": "⚠️", "disagree": "❌"}
WORDS = ("one", "two", "three", "four", "five")
PREAMBLES = (
    "Sure! Here is my turn.",
    "Here's my response for this round:",
    "I have read what the others wrote and thought about it for a while.",
    "Voici ma contribution pour ce tour :",
    "As the synthesizer I go last.",
)
POSTAMBLES = (
    "Let me know if you want me to expand on any of these points.",
    "I kept to the requested format. Happy to revise!",
    "N'hésitez pas à me demander plus de détails.",
)
THOUGHTS = ("think", "thinking", "reasoning", "analysis")


@dataclass
class Answer:
    """What is meant, and how it is written so far.

    `meant` holds for each part what may be read: a value, or None where
    nothing may. Values beside it in `also` are no misreading either.
    """

    rng: Random
    lang: str
    position: str
    stances: dict[str, str]
    confidence: int
    reasoning: str
    meant: dict[str, Any] = field(default_factory=dict)
    written_stance: dict[str, str] = field(default_factory=dict)
    comments: dict[str, str] = field(default_factory=dict)
    written_confidence: str = ""
    changes: list[str] = field(default_factory=list)
    text: str = ""

    def note(self, change: str) -> None:
        self.changes.append(change)


def make(seed: int) -> Answer:
    """Return one answer; the same seed gives the same."""
    rng = Random(seed)
    answer = Answer(
        rng=rng,
        lang=rng.choices(("en", "fr", "de", "es"), (5, 2, 1, 1))[0],
        position=rng.choice(POSITIONS),
        stances={peer: rng.choice(("agree", "partial", "disagree")) for peer in PEERS},
        confidence=rng.randint(1, 5),
        reasoning="\n\n".join(rng.sample(REASONS, rng.randint(1, 3))),
    )
    answer.meant = {
        "position": answer.position,
        "confidence": answer.confidence,
        **{f"@{peer}": stance for peer, stance in answer.stances.items()},
    }
    for peer, stance in answer.stances.items():
        answer.written_stance[peer] = rng.choice(STANCES[answer.lang][stance])
        answer.comments[peer] = rng.choice(COMMENTS)
    answer.written_confidence = str(answer.confidence)
    for changes in (ABOUT_STANCES, ABOUT_CONFIDENCE):
        if rng.random() < 0.4:
            rng.choice(changes)(answer)
    form = rng.choices((markdown, as_json, tags), (8, 2, 1))[0]
    answer.note(form.__name__)
    answer.text = form(answer)
    inside = rng.sample(INSIDE, rng.randint(0, 1))
    around = rng.sample(AROUND, rng.randint(0, 3))
    if contradicting_form in inside:
        # Behind one of these the last form would be the final one.
        around = [one for one in around if one not in (echoed_template, draft_before)]
    for change in (
        *inside,
        *sorted(around, key=AROUND.index),
        *rng.sample(BYTES, rng.randint(0, 2)),
    ):
        answer.note(change.__name__)
        answer.text = change(answer)
    return answer


# --- what changes, or restates, the meaning ----------------------------------------------------


def denied_stance(answer: Answer) -> None:
    peer = answer.rng.choice(PEERS)
    words, means = answer.rng.choice(list(DENIED[answer.lang].items()))
    _restate(answer, peer, words, means)
    answer.note(f"denied: {words}")


def changed_stance(answer: Answer) -> None:
    peer = answer.rng.choice(PEERS)
    first, last = answer.rng.sample(("agree", "partial", "disagree"), 2)
    arrow = answer.rng.choice((" → ", " -> ", " => "))
    _restate(answer, peer, f"{first}{arrow}{last}", last)
    answer.note("stance changed by an arrow")


def crossed_out_stance(answer: Answer) -> None:
    peer = answer.rng.choice(PEERS)
    first, last = answer.rng.sample(("agree", "partial", "disagree"), 2)
    _restate(answer, peer, f"~~{first}~~ {last}", last)
    answer.note("stance crossed out")


def contradicting_comment(answer: Answer) -> None:
    peer = answer.rng.choice(PEERS)
    stance = answer.rng.choice(("agree", "disagree"))
    other = "I disagree with all of it" if stance == "agree" else "I agree with all of it"
    _restate(answer, peer, stance, None)
    answer.comments[peer] = other
    answer.note("comment contradicts stance")


def partly_disagree(answer: Answer) -> None:
    peer = answer.rng.choice(PEERS)
    words = {"en": "partially disagree", "fr": "en partie en désaccord"}
    if answer.lang in words:
        _restate(answer, peer, words[answer.lang], "partial")
        answer.note("partly disagree")


def _restate(answer: Answer, peer: str, words: str, means: str | None) -> None:
    answer.written_stance[peer] = words
    answer.stances[peer] = means or ""
    answer.meant[f"@{peer}"] = means
    answer.comments[peer] = answer.rng.choice(COMMENTS)


def changed_confidence(answer: Answer) -> None:
    first, last = answer.rng.sample(range(1, 6), 2)
    words, means = answer.rng.choice(
        [
            (f"{first} → {last}", last),
            (f"{first} -> {last}", last),
            (f"~~{first}~~ {last}", last),
            (f"was {first}, now {last}", last),
            (f"between {first} and {last}", None),
            (f"{first} or {last}", None),
            (f"{min(first, last)}-{max(first, last)}", None),
            (f"not {first}", None),
            (f"{first}0 %", None),
            (f"{first}/10", None),
            (f"0.{first}", None),
            (f"{first + 5}", None),
            (f"-{first}", None),
            ("high", None),
        ]
    )
    answer.written_confidence, answer.confidence = words, means or 0
    answer.meant["confidence"] = means
    answer.note(f"confidence: {words}")


def worded_confidence(answer: Answer) -> None:
    number = answer.confidence
    answer.written_confidence = answer.rng.choice(
        [
            f"{number}/5",
            f"{number} / 5",
            f"{number} of 5",
            f"{number} out of 5",
            f"**{number}**",
            f"**{number}** / 5",
            f"[{number}]",
            f"{number}.",
            f"{number} — fairly confident",
            f"{number} (two figures are missing)",
            f"{number}, though 2 of the 3 teams disagree",
            f"Level: {number}",
            f"I'm at {number} out of 5: the figures are old.",
            f"High ({number})" if number > 3 else f"Low ({number})",
            WORDS[number - 1],
            WORDS[number - 1].capitalize(),
        ]
    )
    answer.note(f"confidence: {answer.written_confidence}")


ABOUT_STANCES: list[Callable[[Answer], None]] = [
    denied_stance,
    changed_stance,
    crossed_out_stance,
    contradicting_comment,
    partly_disagree,
]
ABOUT_CONFIDENCE: list[Callable[[Answer], None]] = [changed_confidence, worded_confidence]


# --- forms -------------------------------------------------------------------------------------


def markdown(answer: Answer) -> str:
    rng = answer.rng
    labels = list(LABELS[answer.lang])
    case = rng.choice((str, str, str.lower, str.upper))
    emoji = rng.random() < 0.2
    style = rng.choice(("#", "##", "##", "###", "####", "bold", "inline", "numbered"))
    order = [0, 1, 2, 3]
    if rng.random() < 0.3:
        rng.shuffle(order)
        answer.note("order")
    bodies = [answer.position, _stances(answer), answer.reasoning, answer.written_confidence]
    answer.note(f"style {style}")
    parts = []
    for at, part in enumerate(order):
        label = case(labels[part])
        if emoji:
            label = f"{'🎯💬📚📊'[part]} {label}"
        colon = " :" if answer.lang == "fr" else ":"
        gap = "\n" if part == 1 else " "
        if style == "bold":
            parts.append(f"**{label}**\n\n{bodies[part]}")
        elif style == "inline":
            parts.append(f"**{label}{colon}**{gap}{bodies[part]}")
        elif style == "numbered":
            parts.append(f"{at + 1}. **{label}**{colon}{gap}{bodies[part]}")
        else:
            parts.append(f"{style} {label}\n{bodies[part]}")
    between = "\n\n---\n\n" if rng.random() < 0.15 else "\n\n"
    return between.join(parts) + "\n"


def _stances(answer: Answer) -> str:
    rng = answer.rng
    ways = [_in_lines, _in_lines, _in_lines, _in_table, _in_headings, _in_brackets]
    plain = all(
        answer.stances[peer] and answer.written_stance[peer] in STANCES["en"][answer.stances[peer]]
        for peer in PEERS
    )
    if plain:
        ways.append(_in_sentences)
        if len(set(answer.stances.values())) == 1:
            ways.append(_together)
    way = rng.choice(ways)
    answer.note(way.__name__)
    return way(answer)


def _named(answer: Answer, peer: str) -> str:
    shown = {"claude": "Claude", "gpt": "GPT"}[peer]
    return answer.rng.choice((f"@{peer}", f"@{peer}", f"**@{peer}**", shown))


def _in_lines(answer: Answer) -> str:
    rng = answer.rng
    bullet = rng.choice(("- ", "- ", "* ", "• ", "", "1. ", "1) "))
    colon = rng.choice((": ", ": ", " : ", " — ", " – "))
    dash = rng.choice((" — ", " — ", " – ", " - ", ": ", ", ", ". "))
    bold, emoji = rng.random() < 0.2, rng.random() < 0.15
    lines = []
    for peer in PEERS:
        stance, comment = answer.written_stance[peer], answer.comments[peer]
        stance = f"**{stance}**" if bold else stance
        if emoji and answer.stances[peer]:
            stance = f"{EMOJI[answer.stances[peer]]} {stance}"
        lines.append(
            f"{bullet}{_named(answer, peer)}{colon}{stance}{dash + comment if comment else ''}"
        )
    return "\n".join(lines)


def _in_brackets(answer: Answer) -> str:
    return "\n".join(
        f"- {_named(answer, peer)} ({answer.written_stance[peer]}): {answer.comments[peer]}".rstrip(
            ": "
        )
        for peer in PEERS
    )


def _in_table(answer: Answer) -> str:
    rows = [
        f"| @{peer} | {answer.written_stance[peer]} | {answer.comments[peer]} |" for peer in PEERS
    ]
    return "\n".join(["| Agent | Stance | Comment |", "|---|---|---|", *rows])


def _in_headings(answer: Answer) -> str:
    label = answer.rng.choice(("**Stance:** ", "Stance: ", ""))
    return "\n\n".join(
        f"##### @{peer}\n{label}{answer.written_stance[peer]}\n{answer.comments[peer]}".rstrip()
        for peer in PEERS
    )


def _in_sentences(answer: Answer) -> str:
    words = {"agree": "I agree", "partial": "I partly agree", "disagree": "I disagree"}
    return "\n".join(
        f"- {words[answer.stances[peer]]} with @{peer}{': ' + comment if comment else '.'}"
        for peer, comment in answer.comments.items()
    )


def _together(answer: Answer) -> str:
    first, second = PEERS
    joined = answer.rng.choice((" and ", ", ", " & "))
    return f"- @{first}{joined}@{second}: {answer.written_stance[first]} — {answer.comments[first]}"


def as_json(answer: Answer) -> str:
    rng = answer.rng
    snake, as_map = rng.random() < 0.3, rng.random() < 0.4
    sigil = rng.choice(("", "@"))
    said: Any = [
        {
            "agent_id" if snake else "agentId": sigil + peer,
            "stance": answer.written_stance[peer],
            "comment": answer.comments[peer],
        }
        for peer in PEERS
    ]
    if as_map:
        said = {
            sigil + peer: {"stance": answer.written_stance[peer], "comment": answer.comments[peer]}
            for peer in PEERS
        }
    number = answer.written_confidence
    fields = {
        "position": answer.position,
        "responses_to_others" if snake else "responses": said,
        "reasoning": answer.reasoning,
        "confidence": int(number) if number.isdigit() else number,
    }
    text = json.dumps(fields, ensure_ascii=False, indent=rng.choice((None, 2)))
    answer.note(f"{'snake' if snake else 'camel'} {'map' if as_map else 'list'}")
    return f"```json\n{text}\n```\n" if rng.random() < 0.5 else text + "\n"


def tags(answer: Answer) -> str:
    return (
        f"<position>{answer.position}</position>\n<responses>\n{_in_lines(answer)}\n</responses>\n"
        f"<reasoning>{answer.reasoning}</reasoning>\n"
        f"<confidence>{answer.written_confidence}</confidence>\n"
    )


# --- what stands inside and around a form ------------------------------------------------------


def contradicting_form(answer: Answer) -> str:
    """Put a second form behind the first that nothing marks as the final one."""
    if "{" in answer.text:
        return answer.text
    for part in answer.meant:
        answer.meant[part] = None
    return f"{answer.text}\n{_draft(answer)}"


def question_to_a_peer(answer: Answer) -> str:
    if "{" in answer.text or "<position>" in answer.text:
        return answer.text
    first = answer.reasoning.split("\n")[0]
    asked = answer.rng.choice(
        (
            "@gpt, do you agree that it can wait?",
            "Would @claude disagree if the cache worked?",
            "I know that @gpt does not agree with @claude on this.",
            '@claude wrote: "I disagree with the plan of March."',
        )
    )
    return answer.text.replace(first, f"{first}\n\n{asked}", 1)


def own_words_about_confidence(answer: Answer) -> str:
    if "{" in answer.text:
        return answer.text
    first = answer.reasoning.split("\n")[0]
    return answer.text.replace(
        first, f"{first}\n\nMy confidence would be 1 without the figures.", 1
    )


def preamble(answer: Answer) -> str:
    return f"{answer.rng.choice(PREAMBLES)}\n\n{answer.text}"


def postamble(answer: Answer) -> str:
    rule = "---\n\n" if answer.rng.random() < 0.3 else ""
    return f"{answer.text}\n{rule}{answer.rng.choice(POSTAMBLES)}\n"


def fence(answer: Answer) -> str:
    if "```" in answer.text:
        return answer.text
    return f"```{answer.rng.choice(('', 'markdown', 'md', 'text'))}\n{answer.text.rstrip()}\n```\n"


def thought(answer: Answer) -> str:
    name = answer.rng.choice(THOUGHTS)
    close = f"</{name}>\n\n"
    opening = "" if answer.rng.random() < 0.2 else f"<{name}>\n"
    return f"{opening}{_draft(answer)}\nHmm, no: that is too risky.\n{close}{answer.text}"


def draft_before(answer: Answer) -> str:
    marked = answer.rng.choice(
        ("Wait, I missed a point. Here is my final answer:", "**Final answer:**", "## Final answer")
    )
    return f"{_draft(answer)}\n{marked}\n\n{answer.text}"


def quoted_form(answer: Answer) -> str:
    peer = answer.rng.choice(PEERS)
    quoted = "\n".join(f"> {line}".rstrip() for line in _draft(answer).rstrip().split("\n"))
    return f"@{peer} wrote:\n{quoted}\n\n{answer.text}"


def echoed_template(answer: Answer) -> str:
    return (
        "I'll respond in the required form:\n\n"
        "## Position\n[your core position, 1 to 3 sentences]\n\n"
        f"## Confidence\n[1-5]\n\n---\n\n{answer.text}"
    )


def _draft(answer: Answer) -> str:
    """Return a form that contradicts the answer in every part."""
    stances = {"agree": "disagree", "disagree": "agree", "partial": "agree", "": "partial"}
    said = "\n".join(f"- @{peer}: {stances[answer.stances[peer]]} — drafted" for peer in PEERS)
    number = answer.confidence % 5 + 1
    return (
        "## Position\nBuy the old ship in Bergen.\n\n"
        f"## Responses to Others\n{said}\n\n## Confidence\n{number}\n"
    )


INSIDE: list[Callable[[Answer], str]] = [
    contradicting_form,
    question_to_a_peer,
    own_words_about_confidence,
]
# In the order in which they are laid around each other, from the inside.
AROUND: list[Callable[[Answer], str]] = [
    fence,
    echoed_template,
    quoted_form,
    preamble,
    draft_before,
    postamble,
    thought,
]


# --- what happens to the characters ------------------------------------------------------------


def crlf(answer: Answer) -> str:
    return answer.text.replace("\n", "\r\n")


def byte_order_mark(answer: Answer) -> str:
    return f"\ufeff{answer.text}"


def ansi(answer: Answer) -> str:
    lines = answer.text.split("\n")
    if answer.text.lstrip().startswith("{"):
        return answer.text
    return "\n".join(
        f"\x1b[1m{line}\x1b[0m" if line.startswith(("#", "**")) else line for line in lines
    )


def wide_spaces(answer: Answer) -> str:
    space = answer.rng.choice("\u00a0\u202f\u2009")
    if "{" in answer.text:
        return answer.text
    return answer.text.replace(": ", f":{space}").replace(" — ", f"{space}—{space}")


def trailing_spaces(answer: Answer) -> str:
    return answer.text.replace("\n", "  \n")


BYTES: list[Callable[[Answer], str]] = [crlf, byte_order_mark, ansi, wide_spaces, trailing_spaces]


# --- what is read ------------------------------------------------------------------------------


def misread(answer: Answer) -> list[str]:
    """Return in words which parts are read as something that was not said."""
    heard = read_turn(answer.text).parts
    return [
        f"{name} is read as {value!r}, meant was {answer.meant.get(name)!r}"
        for name, value in heard.items()
        if _bare(value) != _bare(answer.meant.get(name))
    ]


def is_whole(answer: Answer) -> bool:
    """Return true if every part that is clear was read."""
    heard = read_turn(answer.text).parts
    return all(name in heard for name, value in answer.meant.items() if value is not None)


def _bare(value: Any) -> Any:
    """Return a text without the marks and blanks that say nothing."""
    return " ".join(value.split()).strip("*_[]\"' ") if isinstance(value, str) else value


def shown(answer: Answer, faults: list[str]) -> str:
    """Return an answer that was misread, for people."""
    indented = "\n".join(f"    {line}" for line in answer.text.split("\n"))
    return f"{'; '.join(faults)}\n  ({', '.join(answer.changes)})\n{indented}"


def main(count: int) -> int:
    """Read so many answers; print those misread, by what was done to them; return the exit code."""
    whole, wrong = 0, []
    causes: Counter[str] = Counter()
    for seed in range(count):
        answer = make(seed)
        faults = misread(answer)
        whole += not faults and is_whole(answer)
        if faults:
            wrong.append((seed, answer, faults))
            causes.update(change.partition(":")[0] for change in answer.changes)
    for seed, answer, faults in wrong[:40]:
        print(f"seed {seed}: {shown(answer, faults)}\n")
    print(f"{count} answers: {whole} read whole, {len(wrong)} misread")
    for cause, times in causes.most_common():
        print(f"  {times:6} {cause}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500))
