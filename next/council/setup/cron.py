r"""The crontab line that runs the heartbeat of a workspace.

It is right under every cron only if it needs no shell words and has a backslash, not quotation
marks, before each odd character: some crons hand `\%` on as it is.
"""

from __future__ import annotations

from council.kernel.errors import Invalid, Refusal, Unexpected, Usage
from council.kernel.record import TYPE_CHECKING
from council.setup.clocks import Clock, called, is_heartbeat

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

BEGIN, END = "# >>> council schedule: ", "# <<< council schedule: "
_PLAIN = frozenset("/._-+:@,=")  # beside letters and digits
_NONE_YET = ("no crontab", "no fcrontab", "no such file or directory", "does not exist")
_FORBIDDEN = ("denied", "not allowed")
_NAMED = ("@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually")
_MONTHS, _DAYS = "jan feb mar apr may jun jul aug sep oct nov dec", "sun mon tue wed thu fri sat"
_FIELDS = ((0, 59, ""), (0, 23, ""), (1, 31, ""), (1, 12, _MONTHS), (0, 7, _DAYS))


def parts(root: str, argv: list[str], seconds: int, _: Mapping[str, str]) -> dict[str, str]:
    """Return the lines of a workspace, as a part called `crontab`."""
    line = f"{fields(seconds)} {' '.join(map(escaped, argv))} >/dev/null"
    return {"crontab": f"{BEGIN}{root}\n{line}\n{END}{root}\n"}


def fields(seconds: int) -> str:
    """Return the five fields of a crontab line, in the only form that all crons take.

    Raises:
        Usage: The interval divides neither the hour nor the day.
    """
    minutes = seconds // 60
    hours, odd = divmod(minutes, 60)
    if minutes < 60 and 60 % minutes == 0:
        return "* * * * *" if minutes == 1 else f"*/{minutes} * * * *"
    if not odd and 0 < hours <= 24 and 24 % hours == 0:
        return f"0 {({1: '*', 24: '0'}).get(hours, f'*/{hours}')} * * *"
    hint = "choose one that divides an hour or a day, such as 5m, 15m, 1h, 6h, or use --systemd"
    raise Usage("bad-interval", "cron cannot keep that interval", hint)


def escaped(word: str) -> str:
    """Return a word for a crontab line: a backslash before each character that is not plain."""
    return "".join(c if c.isalnum() or c in _PLAIN or not c.isascii() else f"\\{c}" for c in word)


def change(root: str, made: dict[str, str], env: Mapping[str, str], remove: bool) -> list[str]:
    """Put the lines of a workspace into the crontab, or remove them; all else byte for byte.

    Raises:
        Invalid: A marker has lost its other half (`bad-crontab`).
        Unexpected: The crontab cannot be read for certain, or not be written (`no-crontab`).
    """
    before, kept, inside = table(env), list[str](), False
    for line in before.splitlines(keepends=True):
        if line.rstrip("\r\n") == (END if inside else BEGIN) + root:
            inside = not inside
        elif not inside:
            kept.append(line)
    if inside or f"{END}{root}\n" in kept:
        what = f"the markers for {root} in the crontab do not match"
        raise Invalid("bad-crontab", what, "remove those lines: crontab -e")
    others = "".join(kept)
    others += "\n" if others and not others.endswith("\n") else ""
    after = others if remove else others + made["crontab"]
    if after != before:
        code, _, words = called(["crontab", "-"], env, after)
        if code:
            raise Unexpected("no-crontab", f"crontab: {words}", "the old crontab is unchanged")
    return []


def table(env: Mapping[str, str]) -> str:
    """Return the crontab of this user, "" where there is none yet.

    Raises:
        NotFound: There is no program `crontab`.
        Unexpected: It cannot be read for certain (`no-crontab`).
    """
    code, found, words = called(["crontab", "-l"], env)
    low = words.lower()
    is_new = any(one in low for one in _NONE_YET) and not any(one in low for one in _FORBIDDEN)
    if code and not is_new:
        raise Unexpected("no-crontab", f"crontab -l: {words or code}", "the crontab is unchanged")
    return "" if code else found


def found(root: str, env: Mapping[str, str]) -> Iterator[Clock]:
    """Yield the lines that run the heartbeat of `root`, working or not."""
    try:
        lines = table(env).splitlines()
    except Refusal:
        return
    for line in map(str.strip, lines):
        words = line.split(None, 1 if line.startswith(_NAMED) else 5)
        if line[:1] == "#" or not is_heartbeat("".join(words[-1:]).replace("\\%", "%"), root):
            continue
        when, fault, fix = " ".join(words[:-1]), "", ""
        try:
            if when[:1] != "@" and any(map(_is_over, words, _FIELDS)):
                fault = f"the crontab line {when} never runs: a range goes past the end"
                fix = "write the range in two parts, such as 22-23,0-6: crontab -e"
        except ValueError:  # it is no line of a crontab
            continue
        yield Clock(kind="cron", when=when, fault=fault, fix=fix)


def _is_over(field: str, bounds: tuple[int, int, str]) -> bool:
    """Return whether a range goes past the end, so that the usual crons never run it.

    Raises:
        ValueError: It is no field.
    """
    first, last, names = bounds
    for part in field.lower().split(","):
        span, slash, step = part.partition("/")
        if span in ("*", "~"):
            span = f"{first}-{last}"
        ends = [
            names.split().index(one) + first if one.isalpha() else int(one)
            for one in span.replace("~", "-").split("-")
        ]
        if (slash and int(step) < 1) or len(ends) > 2 or min(ends) < first or max(ends) > last:
            raise ValueError(part)
        if ends[0] > ends[-1]:
            return True
    return False
