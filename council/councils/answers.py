"""What an answer says: read tolerantly as to wrapping, never guessed as to content.

Every part is found, missing or unclear. What is needed and missing, and what is unclear, is asked
once, in one question; of the second answer only those parts are taken.
"""

from __future__ import annotations

from council.councils.model import AGREED, Fault, Form, Heard
from council.councils.verdict import begins
from council.kernel.ids import cut
from council.kernel.record import Any

_WRAPPED = (*"<{\x1b\r◁＜\x07\x08\x00", "&lt;", "[think", "inst]", "[e", "[|", "\\n")
_TELLING = ("block", "bloqu", "blocag", "status", "statut", "resolv", "résol", "resol", "agreed")
_ALSO = ("d'accord", "d’accord", "heartbeat", "reply", "response", "_skip", "\\", "\u200b")
# One of these is near the beginning of a text that is only a refusal or an error.
_UNABLE = ("can", "able", "imposs", "peux", "pu ", "arriv", "won", "declin", "refus", "out")
_FAILED = ("err", "inval", "exceed", "balance", "limit", "fail", "not", "exist", "many", "trace")
_HEADED = ("choice", "position", "stance", "confidence", "recommendation")
_ORDER = (*_HEADED, "blockers", "resolved", "status")
_WHOLE = {"turn": ["position", "confidence"], "vote": ["choice", "position", "confidence"]}
_WHOLE |= {"synthesis": ["recommendation"], "contribution": ["status"]}


def said(text: str, form: Form) -> str:
    """Return the words of an answer as they are recorded: without thoughts, echo and wrapping."""
    low, echo = text.casefold(), "".join(form.prompt.split())[:20].casefold()
    starts = ("```", "~~~", "analysis", '"', "[")
    wrapped = low.lstrip().startswith(starts) or any(mark in low for mark in _WRAPPED)
    wrapped |= "think" in low[:40] or "thought" in low[:40]
    if not (wrapped or (echo and echo in "".join(low.split()))):
        return text.strip("\n")
    from council.councils.answers_parts import bare  # late: few contributions need `re`

    return bare(text, form.prompt)


def read(text: str, form: Form) -> Heard:
    """Return what is understood of an answer, with its faults."""
    own = said(text, form)
    low = own.casefold()
    asking = _questions(own, form) if "@" in own and "?" in own else {}
    plainly = len(own) > 12 and own[0] != "[" and any(letter.isalnum() for letter in own[:2000])
    telling = any(word in low for word in (*_TELLING, *_ALSO))
    telling |= len(own) < 700 and any(word in low[:90] for word in (*_UNABLE, *_FAILED))
    if form.kind == "contribution" and plainly and not telling:
        return Heard(questions=asking)
    from council.councils.answers_forms import read_form  # late: few contributions need `re`

    return consistent(read_form(own, form).copy(questions=asking))


def merge(first: Heard, second: Heard, parts: set[str]) -> Heard:
    """Return an answer with some parts (`Fault.part`) taken from another one; all else stays."""
    if "answer" in parts:
        return second
    names = [*parts & {"confidence", "recommendation", "status"}]
    if parts & {"position", "choice"}:
        told = ("position", "choice", "unchanged", "moved")
        names += [name for name in told if getattr(second, name)]
    if any(fault.part == "answer" for fault in second.faults):
        return first  # nothing more was said
    taken: dict[str, Any] = {name: getattr(second, name) for name in names}
    taken["stances"] = {**first.stances}
    why = {one.part: one.seen.partition("—")[2].strip() for one in first.faults}
    for peer, one in second.stances.items():  # a word alone is asked for: what was behind it stays
        if f"stance:{peer}" in parts:
            taken["stances"][peer] = one.copy(comment=one.comment or why.get(f"stance:{peer}", ""))
    for name in ("blockers", "resolved") if parts & {"blockers", "resolved", "status"} else ():
        taken[name] = list(dict.fromkeys([*getattr(first, name), *getattr(second, name)]))
    left = [fault for fault in first.faults if fault.part not in parts]
    left += [fault for fault in second.faults if fault.part in parts]
    return consistent(first.copy(**taken, faults=left))


def question(heard: Heard, form: Form) -> str:
    """Return what was understood, what is in doubt, and the form of those parts alone."""
    say, parts = texts(form), [fault.part for fault in heard.faults]
    if "answer" in parts:
        parts = [*_WHOLE[form.kind], *(f"stance:{peer}" for peer in form.needs)]
    parts += ["resolved"] * any(one.code == "agreed-and-blocking" for one in heard.faults)
    said = {say[f"name.{p}"]: getattr(heard, p, "") for p in (*_HEADED, "status")}
    said |= {f"@{peer}": stance.word for peer, stance in heard.stances.items()}
    told = [f"{name} {cut(str(given), 160)}" for name, given in said.items() if given]
    lines = [say["intro"], *([say["understood"].format(parts=", ".join(told))] if told else [])]
    for fault in heard.faults:
        part, _, peer = fault.part.partition(":")
        text = say.get(fault.code, say["unclear" if fault.seen else "missing"])
        between, own = say.get(f"between.{part}", say["between"]), "; ".join(form.blockers)
        name, seen = f"@{peer}" if peer else say[f"name.{part}"], " ".join(fault.seen.split())
        lines.append("- " + text.format(part=name, seen=seen[:300], between=between, own=own))
    letters = [*(f"{letter} ({cut(text, 60)})" for letter, text in form.options.items()), "new"]
    lines += ["", say["please"]]
    for part in sorted({part.partition(":")[0] for part in parts}, key=_ORDER.index):
        peers = {one.partition(":")[2]: None for one in parts if one.startswith(part)}
        hint = say[f"hint.{part}"].format(letters=", ".join(letters))
        lines += ["", f"## {say[f'name.{part}']}"] if part in _HEADED else [""]
        lines += [f"- @{peer}: {hint}" if peer else hint for peer in peers]
    return "\n".join([*lines, "", say["stays"]])


def consistent(heard: Heard, blockers: list[str] | tuple[()] = ()) -> Heard:
    """Return an answer in which nobody agrees whose own blocker (or earlier one) is open."""
    own = dict.fromkeys([*blockers, *heard.blockers])
    left = [one for one in own if not any(begins(text, one) for text in heard.resolved)]
    if heard.status != AGREED or not left:
        return heard
    fault = Fault(part="status", code="agreed-and-blocking", seen="; ".join(left))
    return heard.copy(status="", faults=[*heard.faults, fault])


def _questions(text: str, form: Form) -> dict[str, str]:
    """Return what is asked of each peer: the sentences from `@id` to their `?`, each once.

    Questions that follow at once belong to it, and behind `@id,` what is said before it.
    """
    from council.agents.expressions import pattern, without  # late: few texts need `re`

    for name in ("comment", "folded", "fenced", "quoted line"):  # not said by its author, or aside
        text = without(name, text)
    peers = "|".join(sorted((*form.peers, "human"), key=len, reverse=True))
    found: dict[str, list[str]] = {}
    others = rf"(?:@(?:{peers})(?:,|\s*&|\s(?:and|et|und|y)\b|\s(?=@))\s*)*"
    asking = pattern(rf"(?i){{=quoted}}|(?<![\w.])(?P<whom>{others}@(?:{peers})){{=asks}}", "")
    for one in asking.finditer(text.replace("\\", "")):
        words = " ".join((one["asked"] or "").split()).lstrip(" :,—–-*")
        for who in pattern(r"@([\w-]+)", "").findall(one["whom"] or ""):
            found.setdefault(who.casefold(), []).append(words)
    return {who: " ".join(dict.fromkeys(asked)) for who, asked in found.items()}


def texts(form: Form) -> dict[str, str]:
    """Return the words of the question, and the labels of the form, in its language."""
    from council.kernel.words import load  # late: most answers are clear

    texts = load(f"texts/question-{'fr' if form.lang == 'fr' else 'en'}.txt")
    ballot = {key[:-5]: text for key, text in texts.items() if key.endswith(".vote")}
    return texts | (ballot if form.kind == "vote" else {})
