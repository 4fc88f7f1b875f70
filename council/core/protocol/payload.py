"""How DATA falls into flags and pairs, as every version of the protocol writes it.

`;` parts the items, `=` makes one a pair. Double quotes protect `;` and stay
part of the value; a quote that is never closed protects nothing. A last `;`
is ignored.

Source: PR-542, PR-544, A-58.
"""

from __future__ import annotations


def split_outside_quotes(text: str, mark: str) -> list[str]:
    """Return the parts of `text` between the `mark`s that no quotes protect."""
    if '"' not in text:
        return text.split(mark)
    parts = text.split('"')
    if len(parts) % 2 == 0:
        tail = parts.pop()
        parts[-1] += '"' + tail
    pieces: list[list[str]] = [[]]
    for place, part in enumerate(parts):
        if place % 2:
            pieces[-1].append(f'"{part}"')
        else:
            first, *others = part.split(mark)
            pieces[-1].append(first)
            pieces += [[other] for other in others]
    return ["".join(piece) for piece in pieces]


def items_of(data: str) -> list[str]:
    """Return what stands between the `;`, without empty items."""
    return [item for item in split_outside_quotes(data, ";") if item]


def flags_and_pairs(data: str) -> tuple[list[str], dict[str, str]]:
    """Return the bare words and the pairs of DATA.

    A text without any pair is plain text: it has no flags either. The last of
    two pairs with one name counts.
    """
    if "=" not in data:
        return [], {}
    flags: list[str] = []
    pairs: dict[str, str] = {}
    for item in items_of(data):
        name, equals, value = item.partition("=")
        if equals and name:
            pairs[name] = value
        else:
            flags.append(item)
    return (flags, pairs) if pairs else ([], {})
