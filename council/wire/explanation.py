"""Explain messages, codes and versions to people; the quick reference card.

Source: PR-109, PR-313, PR-413, PR-592, PR-597.
"""

from __future__ import annotations

from typing import Any

from council.core.errors import NotFoundError
from council.wire import word_texts
from council.wire.codes import CODES, category_of, meaning_of
from council.wire.data import call_of, references_in
from council.wire.forms import NAMES, TYPES
from council.wire.messages import VERSIONS, parse
from council.wire.pages import PAGES
from council.wire.parsed import STANDING, Parsed

_CARD = """\
{format}:
  M<n>|FROM>TO|TYPE|TID|PRI|STATE|ERR|DEPTH|CTX|BUDGET|DATA

TYPE    R S E C U A B H D J L K X
PRI     P0 P1 P2
STATE   N R D F X
ERR     E00-E99
DEPTH   0-5
CTX     S<id>
BUDGET  B<n>
DATA    k=v;k=v  ({data})

{request:9} M1|O1>W1|R|T1|P1|N|-|0|S1|B500|call=web_search;query=AI
{success:9} M2|W1>O1|S|T1|P1|D|-|0|S1|B300|results=5
{error:9} M3|W1>O1|E|T1|P1|F|E33|0|S1|B300|desc=file not found
{handoff:9} M4|W1>W2|X|T1|P1|R|-|1|S1|B250|call=analyze;reason=specialized
"""
_CARD_WORDS = {
    "format": ("V5 in one line", "V5 en une ligne"),
    "data": ("200 characters, no | and no >", "200 caractères, ni | ni >"),
    "request": ("request", "demande"),
    "success": ("success", "succès"),
    "error": ("error", "erreur"),
    "handoff": ("hand-off", "délégation"),
}


def card(lang: str = "en") -> str:
    """Return the quick reference card of V5.

    Source: PR-597.
    """
    return _CARD.format(**{name: text[lang == "fr"] for name, text in _CARD_WORDS.items()})


def explain(message: str | Parsed, lang: str = "en") -> dict[str, Any]:
    """Return what every part of a message means, and what is wrong with it.

    Args:
        message: A text of any version, or its reading.
        lang: `en` or `fr`.
    """
    found = message if isinstance(message, Parsed) else parse(message)
    french = lang == "fr"
    names, data = NAMES[found.version], found.fields.get("data", "")
    call = call_of(data)
    parts = [
        {
            "segment": place,
            "name": name,
            "value": value,
            "meaning": _meaning(name, value, found, lang),
        }
        for place, (name, value) in enumerate(zip(names, found.segments, strict=False), start=1)
    ]
    return {
        "version": found.version,
        "standing": word_texts.STANDINGS[found.version][french],
        "valid": found.valid,
        "segments": parts,
        "call": {"capability": call[0], "arguments": call[1]} if call else None,
        "references": [one.text for one in references_in(data)],
        "errors": [
            {
                **fault.to_record(),
                "name": names[fault.segment - 1] if fault.segment else None,
                "meaning": meaning_of(fault.code, _table_of(found.version), lang),
            }
            for fault in found.errors
        ],
        "warnings": [
            {"name": name, "meaning": _warned(name, found, french)} for name in found.warnings
        ],
    }


def _warned(name: str, found: Parsed, french: bool) -> str:
    meaning = word_texts.WARNINGS[name][french]
    return f"{meaning}: {word_texts.SENDERS[found.segments[2]]}" if name == "W_SENDER" else meaning


def _table_of(version: str) -> str:
    # V1 reports its faults with the codes of V2.
    return "V2" if version == "V1" else version


def _meaning(name: str, value: str, found: Parsed, lang: str) -> str:
    french = lang == "fr"
    general = word_texts.SEGMENTS[name][french]
    tables = {
        "TYPE": word_texts.ABBREVIATIONS if found.version == "V1" else word_texts.TYPES,
        "STATE": word_texts.STATES,
        "PRI": word_texts.PRIORITIES.get(found.version, {}),
    }
    if name in tables:
        special = tables[name].get(value, ("", ""))[french]
    elif name == "ERR":
        special = meaning_of(value, found.version, lang)
    elif name == "DATA" and found.fields.get("err") and found.version in ("V1", "V2", "V3"):
        special = meaning_of(found.fields["err"], _table_of(found.version), lang)
    else:
        special = ""
    return f"{general}: {special}" if special else general


def explain_code(code: str, version: str, lang: str = "en") -> dict[str, str]:
    """Return what a code means in one version, and its category.

    Raises:
        NotFoundError: That version has no such code.
    """
    meaning = meaning_of(code, version, lang)
    if not meaning:
        known = ", ".join(CODES.get(version, ()))
        raise NotFoundError(f"{version} has no code {code}", f"its codes are: {known}")
    category = category_of(code, version, lang)
    return {"code": code, "version": version, "meaning": meaning, "category": category}


def explain_codes(version: str, lang: str = "en") -> list[dict[str, str]]:
    """Return every code of a version with its meaning and category.

    Raises:
        NotFoundError: The version has no table of codes.
    """
    if version not in CODES:
        raise NotFoundError(f"{version} has no table of codes", "V2 to V5 have one")
    return [explain_code(code, version, lang) for code in CODES[version]]


def explain_word(word: str, lang: str = "en") -> list[dict[str, str]]:
    """Return what a word of messages means: a type, state, priority, segment, warning, advice.

    A letter may be several of them. The meanings of priorities differ from version to version.

    Raises:
        NotFoundError: No version has such a word.

    Source: PR-109.
    """
    from council.wire.economy import RULES

    french = lang == "fr"
    tables: list[tuple[str, str, dict[str, tuple[str, ...]]]] = [
        ("type", "", word_texts.TYPES),
        ("type", "V1", word_texts.ABBREVIATIONS),
        ("state", "", word_texts.STATES),
        *(("priority", name, word_texts.PRIORITIES[name]) for name in ("V3", "V4", "V5")),
        ("segment", "", word_texts.SEGMENTS),
        ("warning", "", word_texts.WARNINGS),
        ("advice", "", RULES),
    ]
    found = [
        {"kind": kind, "word": word, "version": version, "meaning": table[word][french]}
        for kind, version, table in tables
        if word in table
    ]
    if not found:
        raise NotFoundError(
            f"{word!r} is no message and no word of one",
            "name a message, a code (E13), a version (V5), a type, a segment or a warning",
        )
    return found


def explain_version(version: str, lang: str = "en") -> dict[str, Any]:
    """Return the page of a version: its standing, segments, types and history.

    Raises:
        NotFoundError: There is no such version.
    """
    if version not in PAGES:
        raise NotFoundError(f"no protocol version {version}", f"there are {', '.join(VERSIONS)}")
    french = lang == "fr"
    texts = word_texts.ABBREVIATIONS if version == "V1" else word_texts.TYPES
    return {
        "version": version,
        "standing": STANDING[version],
        "use": word_texts.STANDINGS[version][french],
        "segments": {name: word_texts.SEGMENTS[name][french] for name in NAMES[version]},
        "types": {letter: texts[letter][french] for letter in TYPES[version]},
        "senders": dict(word_texts.SENDERS) if version == "V5" else {},
        "page": list(PAGES[version][french]),
    }
