"""All routes of the HTTP interface, as one literal table: what is called, and which command it is.

A row is a method, a path below `/api/council/`, a command, and what the route makes of its
options. The names in braces are options of that command (`:path` behind a name lets it hold
slashes); its other options are fields of the query (GET, DELETE) or of the JSON body.

- `--flag` and `name=VALUE` are always given. They are no fields, and neither is `~name`.
- `name!` must be given, though the command itself can do without; `name?` may be given.
- `.` says that there are no fields but those the row names.
- `<name` is the text that the command reads from a file of that option (`!` as above).
- `<` alone: the body of the request, whatever it is, is the standard input of the command.
- `>` alone: the standard output of the command is the body of the response, for a download.
- `[]` says that the response is an array, where the command prints JSON a line each.
- A number is the status of success, 200 where there is none.

Files of this machine are read and written for the command line alone, and some options are for
terminals: neither are fields, unless the row names them.

A test holds it against the table of commands, and says why the others have no route.

Source: DL-061 to DL-065, P8-005.
"""

from __future__ import annotations

from functools import cache

from council.commands.options import ROWS, Command, Option, command
from council.core.record import Any, Record

TABLE = """
== Workspace
GET    status                          status ~problems
GET    problems                        status --problems .
GET    doctor                          doctor .
POST   doctor                          doctor
GET    explain                         explain
POST   heartbeat                       heartbeat
POST   halt                            pause --all reason? .
DELETE halt                            resume --all .
POST   gc                              gc ~artifacts
POST   purge                           purge --yes
POST   migrate                         migrate
POST   say                             say message!
== Councils
GET    councils                        list search? . []
POST   councils                        convene 201
GET    councils/{name}                 show last? after? .
DELETE councils/{name}                 cancel
GET    councils/{name}/consensus       show --consensus .
GET    councils/{name}/questions       show --open-questions .
GET    councils/{name}/session         show format=debate-session .
GET    councils/{name}/context         context
POST   councils/{name}/answers         respond 201
POST   councils/{name}/votes           vote 201
POST   councils/{name}/synthesis       synthesize text! 201
POST   councils/{name}/inject          inject message! 202
POST   councils/{name}/stop            stop
POST   councils/{name}/pause           pause .
POST   councils/{name}/resume          resume .
POST   councils/{name}/extend          extend
POST   councils/{name}/archive         archive
POST   councils/{name}/restore         restore
POST   councils/{name}/adopt           adopt
GET    councils/{name}/history         history []
GET    councils/{name}/diff            diff
GET    councils/{name}/check           check
GET    councils/{name}/what-if         what-if
GET    minutes                         list --archived []
GET    minutes/{name}                  show --archived last? after? section? .
POST   minutes/{which}/ratings         rate 201
GET    metrics                         metrics
== Agents
GET    agents                          agent list []
POST   agents                          agent add 201
POST   agents/scan                     agent scan
GET    agents/{agent}                  agent show
PATCH  agents/{agent}                  agent edit
DELETE agents/{agent}                  agent remove
PUT    agents/{as}/accounts/{account}  agent register
POST   agents/{to}/messages            agent message text! ~message 201
POST   agents/{to}/calls               agent call text! ~message <schema
GET    routing                         route check .
GET    routing/explain                 route explain
== Registry
GET    registry                        agent query ~filter
POST   registry                        agent join 201
DELETE registry/{who}                  agent leave
GET    registry/{who}/capabilities     agent caps .
PUT    registry/{who}/capabilities     agent caps capabilities! .
GET    registry/{who}/liveness         agent liveness .
PUT    registry/{who}/liveness         agent liveness load! queue? .
GET    capabilities                    agent caps .
GET    workers                         agent select ~explain
GET    groups                          agent group list
POST   groups/{group}/members          agent group add
DELETE groups/{group}/members          agent group remove
== Rooms
GET    rooms                           channel list
POST   rooms                           channel create 201
GET    rooms/{channel}                 channel show
GET    rooms/{channel}/mode            channel mode .
PUT    rooms/{channel}/mode            channel mode mode!
POST   rooms/{channel}/messages        channel post text! 201
GET    rooms/{channel}/members         channel members .
POST   rooms/{channel}/members         channel members action=add names!
DELETE rooms/{channel}/members         channel members action=remove names!
PUT    rooms/{channel}/tie             channel tie ~remove
DELETE rooms/{channel}/tie             channel tie --remove .
GET    rooms/{channel}/turn            turn status
POST   rooms/{channel}/turn/begin      turn begin
POST   rooms/{channel}/turn/end        turn end
POST   rooms/{channel}/wake            turn wake
POST   discussions                     discussion create <guide! 201
POST   discussions/{channel}/complete  discussion complete summary!
== Relay
POST   relay/check-turn                relay check-turn --here
POST   relay/turn-complete             relay turn-complete --here
GET    relay/get-identity              relay get-identity --here
GET    relay/get-channel-state         relay get-channel-state --here
== Messages and tasks
GET    messages                        msg log
POST   messages                        msg send ~wait ~timeout 201
GET    messages/inbox                  msg inbox
POST   messages/parse                  msg parse message!
POST   messages/validate               msg validate message!
POST   messages/build                  msg build fields! ~parts
POST   messages/parts                  msg build fields! --parts ~pid []
POST   messages/convert                msg convert message!
POST   messages/sign                   msg sign message!
POST   messages/verify                 msg verify message!
POST   messages/lint                   msg lint <message!
POST   messages/diff                   msg diff
POST   messages/resolve                msg resolve
GET    messages/explain                msg explain what! version? lang? .
GET    messages/card                   msg explain --card lang? .
GET    tasks                           task list
GET    tasks/{target:path}             task show
DELETE tasks/{target:path}             task cancel
POST   contexts                        ctx open 201
GET    contexts/{context}              ctx show
DELETE contexts/{context}              ctx close
PATCH  contexts/{context}/values       ctx set
GET    briefs                          brief show . []
GET    briefs/{brief}                  brief show []
== Artifacts
GET    artifacts                       artifact list []
POST   artifacts                       artifact publish file=- < 201
DELETE artifacts                       gc --artifacts
POST   artifacts/verify                artifact verify --all .
GET    artifacts/{artifact}            artifact fetch
GET    artifacts/{artifact}/content    artifact fetch >
POST   artifacts/{artifact}/verify     artifact verify .
== Events
GET    events/latest                   events tail []
GET    events/story                    events story
GET    events/schema                   events schema
GET    events/cloudevents              events export format=cloudevents []
GET    events/spans                    events export format=otlp-json
"""

_LOCAL = ("FILE", "PATH", "DIR")
# The workspace is the server's, and everything is JSON; what is for a terminal is no field.
_FIXED = frozenset(("root", "now", "json"))
_OF_TERMINALS = frozenset(
    (
        *("watch", "advance", "interval", "active_interval", "follow", "wait", "run"),
        *("verbose", "reply_token"),
    )
)


class Route(Record):
    """One route; `within` are the options in its path, `fields` those that are given beside.

    `required` are fields that must be given, `typed_in` is the option whose text the command
    reads from its standard input; `takes_body` and `gives_body` say that its standard input
    or output is the whole body. `lists` says that the response is an array.
    """

    subject: str
    method: str
    path: str
    command: Command
    fixed: dict[str, Any]
    within: list[Option]
    fields: list[Option]
    required: frozenset[str]
    typed_in: str
    takes_body: bool
    gives_body: bool
    lists: bool
    status: int

    @property
    def has_fields_in_body(self) -> bool:
        """Returns true if fields are given in the body."""
        return self.method in ("POST", "PUT", "PATCH") and not self.takes_body

    @property
    def changes(self) -> bool:
        """Returns true if it may change something."""
        return self.method != "GET"

    @property
    def name(self) -> str:
        """What the route is called in the description of the interface."""
        words = self.path.replace(":path", "").translate(str.maketrans("/-", "__", "{}"))
        return f"{self.method.lower()}_{words}"


def _route(subject: str, line: str) -> Route:
    method, path, *words = line.split()
    status = int(words.pop()) if words[-1].isdigit() else 200
    at = 1
    while at < len(words) and " ".join(words[: at + 1]) in ROWS:
        at += 1
    found, said = command(" ".join(words[:at])), words[at:]
    by_name = {one.name.rstrip("_"): one for one in found.options}
    flags = {flag: one for one in found.options for flag in one.flags}
    fixed: dict[str, Any] = {flags[one].name: True for one in said if one[:2] == "--"}
    fixed |= {
        by_name[name].name: value
        for name, _, value in (one.partition("=") for one in said if "=" in one)
    }
    left_out = [one[1:] for one in said if one[0] == "~"]
    named = {one.strip("<!?") for one in said if one[0] == "<" or one[-1] in "!?"}
    inside = [part[1:-1].partition(":")[0] for part in path.split("/") if part[0] == "{"]
    beside = {*inside, *left_out, *_FIXED, "conversation"}
    return Route(
        subject=subject,
        method=method,
        path=path,
        command=found,
        fixed=fixed,
        within=[by_name[one] for one in inside],
        fields=[
            one
            for name, one in by_name.items()
            if not (name in beside or one.name in fixed)
            and (name in named or not ("." in said or name in _OF_TERMINALS or _is_local(one)))
        ],
        required=frozenset(one.strip("<!") for one in said if one[-1] == "!"),
        typed_in=next((one.strip("<!") for one in said if one[0] == "<" and one != "<"), ""),
        takes_body="<" in said,
        gives_body=">" in said,
        lists="[]" in said,
        status=status,
    )


def _is_local(option: Option) -> bool:
    return option.metavar.strip("[]").split("|")[0] in _LOCAL


@cache
def routes() -> list[Route]:
    """Return all routes of the table."""
    found, subject = [], ""
    for line in TABLE.strip().split("\n"):
        if line.startswith("== "):
            subject = line[3:]
        else:
            found.append(_route(subject, line))
    return found
