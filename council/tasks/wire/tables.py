"""The versions as tables: segments, checklists, conversions and codes, from two files of `texts/`.

Each row's pattern has to match a whole segment; digits are ASCII digits.
"""

from __future__ import annotations

from council.kernel.record import Any, Record
from council.kernel.words import template

VERSIONS = ("V1", "V2", "V3", "V4", "V5")


class Row(Record, settled=True):
    """One row: of a checklist, or of a step of a conversion.

    `rule` is the rule or the warning, or `refuse`, `lossy`, `lose`, `put`. The pattern has to match
    the whole segment. `conditions` are segment, pattern, and whether it has to match. `put` stands
    for the segment in a conversion, `why` is what a refusal says.
    """

    rule: str
    segment: str
    code: str
    pattern: str
    conditions: list[Any]
    put: str = ""
    why: str = ""

    def applies(self, values: dict[str, str]) -> bool:
        """Return whether all conditions hold for the segments of a message."""
        rows = self.conditions
        return all(_matches(one, values.get(name, "")) is required for name, one, required in rows)

    def fits(self, values: dict[str, str]) -> bool:
        """Return whether the segment matches."""
        return _matches(self.pattern, values.get(self.segment, ""))


class Form(Record, settled=True):
    """One version: the names of its segments, its checklist and its warnings.

    A step of a conversion (`V1>V2`) is a form without names, whose checks say what is done.
    """

    names: list[str]
    checks: list[Row] = []
    warnings: list[Row] = []


def lines(name: str) -> list[str]:
    """Return the lines of a file of `texts/` without remarks and empty ones."""
    return [line for line in template(f"texts/{name}.txt").split("\n") if line[:1] not in ("", "#")]


def _matches(pattern: str, text: str) -> bool:
    import re  # late: codes are explained without it

    return re.fullmatch(pattern, text, re.ASCII | re.DOTALL) is not None


def _read() -> dict[str, Form]:
    """Return the versions and the steps of conversions."""
    forms, parts, form = dict[str, Form](), dict[str, str](), Form(names=[])
    for line in lines("protocol"):
        text, _, why = line.partition(" # ")
        for name, pattern in parts.items():
            text = text.replace(name, pattern)
        rule, segment, *words = text.split()
        if rule == ":":
            parts[segment] = words[0]
        elif rule == "==":
            parts["<known>"] = "|".join(meanings(segment)) or "(?!)"
            form = forms[segment] = Form(names=words)
        else:
            code, pattern, *rest = words
            rest, put = (rest[2:], rest[1]) if rest[:1] == ["->"] else (rest, "")
            cells = (word.partition("=") for word in rest)
            conditions = [(name.rstrip("!"), wanted, name[-1] != "!") for name, _, wanted in cells]
            made = {"code": code.strip("-"), "pattern": pattern, "put": put, "why": why}
            row = Row(rule=rule, segment=segment, conditions=conditions, **made)
            (form.warnings if rule[:2] == "W_" else form.checks).append(row)
    return forms


def _codes() -> tuple[dict[str, dict[str, str]], dict[str, list[str]]]:
    """Return the code tables (`V4>V3` and the like), and the texts: `V5 E13`, `V5 %` and `!`."""
    steps: dict[str, dict[str, str]] = {}
    texts: dict[str, list[str]] = {}
    for line in lines("protocol-codes"):
        words = line.split()
        if line[0] == ">":
            steps[words[1]] = dict(one.split("=") for one in words[2:])
        elif line[0] in "%!":
            key = line.partition(" | ")[0]
            texts[key] = line[len(key) + 3 :].split(" | ")
        else:
            *meaning, codes = line.split(" | ")
            for version, code in zip(VERSIONS[1:], codes.split(), strict=True):
                texts[f"{version} {code}"] = meaning
    return steps, texts


_MAPPED, _TOLD = _codes()


def meanings(version: str, lang: str = "en") -> dict[str, str]:
    """Return the codes of a version with what they mean."""
    begin = {"V1": "V2", "V5D": "V4"}.get(version, version) + " E"
    rows = sorted(_TOLD.items())
    return {key[3:]: texts[lang == "fr"] for key, texts in rows if key.startswith(begin)}


def described(mark: str, code: str, lang: str = "en") -> str:
    """Return what a table says of a code: `% V5` its category, `!` what follows on it, in words."""
    for key, texts in _TOLD.items():
        first, _, last = key.removeprefix(f"{mark} ").partition(" ")
        if key.startswith(f"{mark} ") and first <= code <= (last or first):
            return texts[1 + (lang == "fr")] if lang else texts[0]
    return ""


def mapped(code: str, source: str, target: str) -> tuple[str, bool]:
    """Return the code that stands for `code` one version further, and whether nothing is lost."""
    there, back = _MAPPED[f"{source}>{target}"], _MAPPED[f"{target}>{source}"]
    nearest = there.get(code, "E99")
    return nearest, nearest == "-" or (code in there and back.get(nearest) == code)


def explain(which: str, lang: str) -> dict[str, Any] | None:
    """Return what `council explain` says of a code, version, type or warning, None of others."""
    sentences, lang = list[str](), lang or "en"
    if which[:1] in ("E", "e") and which[1:].isdecimal():
        which = which.upper()
        for version in VERSIONS[1:]:
            meaning = meanings(version, lang).get(which)
            kind = described(f"% {version}", which, lang)
            sentences += [f"{version}: {meaning}" + f" ({kind})" * bool(kind)] if meaning else []
        if which != "E00" and which in meanings("V5"):
            sentences.append(f"V5: {described('!', which, lang)}")
    else:
        rows = (line.partition(": ") for line in lines("protocol-words"))
        sentences = [words.split(" | ")[lang == "fr"] for key, _, words in rows if key == which]
    made = {"kind": "code", "id": which, "name": which, "status": "", "waitsFor": []}
    return {**made, "hindrances": [], "tried": [], "next": sentences} if sentences else None


FORMS = _read()
