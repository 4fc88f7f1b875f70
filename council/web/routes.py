"""All routes of the HTTP interface, as one literal table: what is called, and which command it is.

A row is a method, a path below `/api/council/`, a command, and words that are always given to
it. The names in braces are options of that command; its other options are fields of the query
(GET, DELETE) or of the JSON body. A number is the status of success, 200 where there is none.
Files of this machine are read and written for the command line alone, so options that name one
(`FILE`, `PATH`, `DIR`) are no fields.

`NONE` says of every other command why it has no route. A test holds both against the table of
commands.

Source: DL-061 to DL-065, P8-005.
"""

from __future__ import annotations

from council.commands.options import Command, Option, command, parse
from council.core.record import Any, Record

TABLE = """
GET    status                          status
GET    problems                        status --problems
GET    doctor                          doctor
POST   heartbeat                       heartbeat
POST   councils                        convene                    201
GET    councils                        list
GET    councils/{name}                 show
DELETE councils/{name}                 cancel
GET    councils/{name}/consensus       show --consensus
GET    councils/{name}/questions       show --open-questions
GET    councils/{name}/session         show --format debate-session
GET    councils/{name}/context         context
POST   councils/{name}/answers         respond                    201
POST   councils/{name}/votes           vote                       201
POST   councils/{name}/synthesis       synthesize                 201
POST   councils/{name}/inject          inject                     202
POST   councils/{name}/stop            stop
POST   councils/{name}/pause           pause
POST   councils/{name}/resume          resume
POST   councils/{name}/extend          extend
POST   councils/{name}/archive         archive
POST   councils/{name}/restore         restore
POST   councils/{name}/adopt           adopt
GET    councils/{name}/history         history
GET    councils/{name}/diff            diff
GET    councils/{name}/check           check
GET    councils/{name}/what-if         what-if
GET    minutes                         list --archived
POST   minutes/{which}/ratings         rate                       201
GET    metrics                         metrics
POST   relay/check-turn                relay check-turn --here
POST   relay/turn-complete             relay turn-complete --here
GET    relay/get-identity              relay get-identity --here
GET    relay/get-channel-state         relay get-channel-state --here
"""

NONE = """
serve  it is this interface itself
"""

_LOCAL = ("FILE", "PATH", "DIR")
# What is said once for all: the workspace is the server's, and everything is JSON.
_FIXED = frozenset(("root", "now", "json"))


class Route(Record):
    """One route; `within` are the options in its path, `fields` those that are given beside."""

    method: str
    path: str
    command: Command
    fixed: dict[str, Any]
    within: list[Option]
    fields: list[Option]
    status: int

    @property
    def has_body(self) -> bool:
        """Returns true if fields are given in the body."""
        return self.method in ("POST", "PUT", "PATCH")

    @property
    def name(self) -> str:
        """What the route is called in the description of the interface."""
        words = self.path.translate(str.maketrans("/-", "__", "{}"))
        return f"{self.method.lower()}_{words}"


def _route(line: str) -> Route:
    method, path, *words = line.split()
    status = int(words.pop()) if words[-1].isdigit() else 200
    at = next((at for at, one in enumerate(words) if one[0] == "-"), len(words))
    found = command(" ".join(words[:at]))
    given = {one.name for one in found.options if set(one.flags) & set(words[at:])}
    fixed = {name: one for name, one in parse(found, words[at:]).items() if name in given}
    inside = [part[1:-1] for part in path.split("/") if part[0] == "{"]
    by_name = {one.name: one for one in found.options}
    return Route(
        method=method,
        path=path,
        command=found,
        fixed=fixed,
        within=[by_name[one] for one in inside],
        fields=[
            one
            for one in found.options
            if one.name not in {*inside, *fixed, *_FIXED, "conversation"} and not _is_local(one)
        ],
        status=status,
    )


def _is_local(option: Option) -> bool:
    return any(word in option.metavar.split("|") for word in _LOCAL)


def routes() -> list[Route]:
    """Return all routes of the table."""
    return [_route(line) for line in TABLE.strip().split("\n")]


def reasons() -> dict[str, str]:
    """Return why a command has no route, by its name."""
    return dict(line.split("  ", 1) for line in NONE.strip().split("\n"))
