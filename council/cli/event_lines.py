"""Events on a terminal or in a pipe, one a line.

Source: XC-005, `cli.md` section 2 (`events tail`).
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from typing import Any

from council.operations.place import Place
from council.store.events import tail

_LOOK_AGAIN_S = 0.2


def print_tail(place: Place, newest: int, *, follow: bool, as_json: bool) -> None:
    """Print the `newest` events, then with `follow` each new one as it comes."""
    last: deque[dict[str, Any]] = deque(maxlen=newest)
    caught_up = False

    def more() -> bool:
        nonlocal caught_up
        if not caught_up:
            caught_up = True
            for record in last:
                _print(record, as_json)
        sys.stdout.flush()
        if follow:
            time.sleep(_LOOK_AGAIN_S)
        return follow

    for record in tail(place.paths, more=more):
        if caught_up:
            _print(record, as_json)
        else:
            last.append(record)


def _print(record: dict[str, Any], as_json: bool) -> None:
    if as_json:
        line = json.dumps(record, ensure_ascii=False)
    else:
        about = " ".join(
            f"{key}={_short(value)}"
            for key, value in record.get("data", {}).items()
            if value not in (None, "", [])
        )
        line = f"{record['at']}  {record['type']:<24} {record.get('agentId') or '-':<10} {about}"
    sys.stdout.buffer.write(line.encode("utf-8", "replace") + b"\n")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:59] + "…"
