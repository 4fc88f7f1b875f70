"""The commands that look at judgements: `what-if`, `metrics`, `rate`.

Source: DL-091 to DL-094, DL-104, `cli.md` section 2.
"""

from __future__ import annotations

import shutil

from council.cli.edge import Output
from council.cli.parameters import NAME, argument, command, flag, listed, option, whole_number
from council.core.errors import UsageError
from council.operations.place import Place

_WIDEST = 100


@command("what-if", "council what-if --without gpt", reads=True)
def what_if(
    place: Place,
    without: list[str] | None = option(
        "--without", "ID", "As if this agent had not taken part.", None
    ),
    threshold: str = option("--threshold", "N", "As if N had to agree."),
    blind: bool = flag("--blind", "Count only each agent's first look at the others."),
    without_flips: bool = flag("--without-flips", "As if nobody had changed a stance."),
    name: str = NAME,
) -> Output:
    """Judge a deliberation again with something changed; say what its verdict hangs on."""
    from council.operations.conversations.judging import what_if as judge_again

    found = judge_again(
        place,
        name,
        without=listed(*(without or ())),
        threshold=whole_number(threshold, "--threshold"),
        blind=blind,
        without_flips=without_flips,
    )
    return Output(record=found.to_record(), text=found.to_text())


@command("metrics", "council metrics --json", reads=True)
def metrics(place: Place) -> Output:
    """Tell how conversations went: over all minutes, and by procedure."""
    from council.operations.conversations.metrics import metrics as gather

    found = gather(place)
    notes = [f"council: {path}: {reason}" for path, reason in found.skipped]
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    return Output(record=found.to_record(), text=found.to_text(width), notes=notes)


@command("rate", "council rate active 4")
def rate(
    place: Place,
    which: str = argument("NAME", "Minutes by name, file or id; `active`: the newest."),
    stars: str = argument("1-5", "How useful they were."),
    as_: str = option("--as", "ID", "Who rates; else your login name."),
) -> Output:
    """Say how useful the synthesis of a conversation was; kept with its minutes."""
    from council.operations.conversations.metrics import rate as add

    if not (stars.isascii() and stars.isdigit()):
        raise UsageError(f"{stars!r} is not a rating", "give whole stars from 1 to 5")
    rated = add(place, which, int(stars), as_ or _login(place))
    many = f"{len(rated.ratings)} ratings" if len(rated.ratings) > 1 else "1 rating"
    said = f"{rated.path}: {rated.stars} of 5; mean {rated.mean:.1f} of {many}"
    return Output(record=rated.to_record(), text=said)


def _login(place: Place) -> str:
    """Return the name of the person at the keyboard."""
    import getpass

    try:
        return place.environ.get("COUNCIL_AGENT") or getpass.getuser()
    except (OSError, KeyError):  # no such user, as in some containers
        return "user"
