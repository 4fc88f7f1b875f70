"""The product put together: a workspace, the clock, the settings, and the kinds of documents.

`App` is passed to whatever needs the world; nothing is reached through a module. The table of kinds
is here and nowhere else: the heartbeat, status, explain, doctor, the log and forget go over it.
"""

from __future__ import annotations

import os

from council.kernel import files, ids, shared, times
from council.kernel.document import Change, Document
from council.kernel.errors import Invalid, NotFound, Refusal, Refused, Usage
from council.kernel.record import TYPE_CHECKING, Any
from council.kernel.times import UTC, datetime

if TYPE_CHECKING:
    from council.agents.settings import AgentSettings, Settings
    from council.agents.souls import Soul
    from council.runs.kinds import KindRow
    from council.runs.work import Run

FORMAT = "3"
DEFAULT = "active"  # the conversation that is meant where none is named
_KINDS = (  # package and name of a row, and from `.council` on the folders of what is in use
    ("councils", "CONVERSATIONS"),
    ("rooms", "ROOMS", "../channels", "rooms"),  # a page may be there before its journal
    ("tasks", "CONTEXTS", "contexts"),
    ("delegation", "CALLS", "calls"),
    ("trial", "TRIALS", "trials"),
)


class App:
    """A workspace at an instant.

    Attributes:
        root: The workspace, an absolute path.
        fixed: The instant that `--now` or COUNCIL_NOW sets, or None: the clock of the machine.
        env: The environment that settings, keys and agents are read from.
    """

    def __init__(self, root: str, fixed: datetime | None = None, env: Any = None) -> None:
        self.root, self.fixed = root, fixed
        self.env: dict[str, str] = dict(os.environ if env is None else env)
        self.state_folder = f"{root}/memory/shared/.council"
        self._settings: Settings | None = None

    @property
    def now(self) -> datetime:
        """The present instant."""
        return self.fixed or datetime.now(UTC)

    @property
    def settings(self) -> Settings:
        """The settings, read once by this command; a loop calls `again` before each round."""
        if self._settings is None:
            from council.agents import settings  # late: the parser of TOML is slow to import

            self._settings = settings.load(self.root)
        return self._settings

    def again(self) -> None:
        """Forget the settings that were read: a long process follows changes of council.toml."""
        self._settings = None

    def fetch(self) -> Refusal | None:
        """Fetch what other machines recorded; return why it cannot be had now, None if it can."""
        return shared.fetch(self.state_folder)

    @property
    def world(self) -> dict[str, str]:
        """The environment of agents: `env` with the file of keys, HOME and PATH."""
        from council.setup import keys  # late: only what starts agents, or asks if it could

        return keys.environment(self.root, self.env)

    def changed(self, change: Change, row: KindRow | None = None) -> None:
        """Tell the user's hooks of a change; without a row it is one of a conversation."""
        if change.events:
            from council.observe import hooks  # late: most commands change nothing

            hooks.fire(self, change, row)

    def after_beat(self, met: set[str]) -> None:
        """Bring BOARD.md up to date with the documents that a heartbeat met; scan identities."""
        from council.observe import board  # late: only heartbeats write it
        from council.setup import identities  # late: as above

        board.board(self, met)
        identities.look(self)

    def clocks(self) -> list[Any]:
        """Return what runs this workspace's heartbeat: crontab lines and timers."""
        from council.setup import schedule  # late: only `doctor` and `status` ask

        return schedule.clocks(self.root, self.env)

    @property
    def kinds(self) -> list[KindRow]:
        """The table of kinds; one row makes a further one. What was never used is left out."""
        self.fetch()
        found: list[KindRow] = []
        for package, name, *folders in _KINDS:
            if not folders or any(os.path.isdir(f"{self.state_folder}/{one}") for one in folders):
                module = __import__(f"council.{package}.row", None, None, [name])  # only if used
                found.append(getattr(module, name))
        return found

    def other(self, which: str) -> KindRow | None:
        """Return the row of the document of another kind that has exactly this name."""
        return next((row for row in self.kinds[1:] if row.knows(self, which)), None)

    def own_run(self, state: Any) -> Run | None:
        """Return the run of a document that this command is called by, None outside of its runs."""
        mine = ids.digest(self.env.get("COUNCIL_TOKEN", ""))
        return next((run for run in state.runs.by_id.values() if run.token == mine), None)

    def who(self, given: str = "") -> str:
        """Return who speaks: `given`, else COUNCIL_AGENT, else the agent whose folder one is in."""
        own = self.env.get("COUNCIL_AGENT", "")
        if self.env.get("COUNCIL_TOKEN") and own and given.strip().casefold() not in ("", own):
            raise Refused("not-you", f"this run is {own}'s, not {given}'s", "leave out --as")
        found = given or own
        if not found:
            above = os.path.realpath(f"{self.root}/memory/agents") + "/"
            folder = os.path.realpath(".")
            found = folder[len(above) :].partition("/")[0] * folder.startswith(above)
        if not found:
            raise Usage("who", "it is not known who you are", "say --as ID, or set COUNCIL_AGENT")
        return found.strip().casefold()

    def person(self, given: str = "") -> str:
        """Return who speaks as a person: `given`, else COUNCIL_AGENT, else the login name."""
        known = (self.env.get(name, "") for name in ("COUNCIL_AGENT", "USER"))
        return given.strip().casefold() or next(filter(None, known), "person")

    def check_run(self, agent: str, is_agent: bool = False) -> None:
        """Refuse, inside a run, whoever speaks for another; outside, claims if trust is strict."""
        if not self.env.get("COUNCIL_TOKEN"):
            is_strict = self.settings.trust == "strict"
            if is_strict and (is_agent or agent in self.settings.agents or self.soul(agent)):
                hint = 'do it there, or set trust = "open" in council.toml'
                raise Refused("not-verified", f"{agent} has to act from its own run", hint)
            return
        name = self.env.get("COUNCIL_NAME", "")
        for row in self.kinds:
            run = self.own_run(row.document(self, name).peek()) if name in row.names(self) else None
            if run and run.agent == agent:
                return
        raise Refused("not-you", f"this run does not speak for {agent}", "leave out --as")

    def news(self, agent: str, until: str = "") -> str:
        """Return what others left for an agent; what is from up to an instant it has seen now."""
        if not os.path.isdir(f"{self.state_folder}/calls"):
            return ""
        from council.delegation import row  # late: most workspaces have none

        return row.news(self, agent, until)

    def filled(self, template: str, values: dict[str, Any]) -> str:
        """Return a template of the package, such as `prompts/{lang}/call.md`, filled in."""
        from council.kernel import words  # late: only who is run is told something

        path = template.format(lang=self.settings.language or "en")
        forms = words.load(f"texts/question-{path.split('/')[1]}.txt")
        return words.fill(words.template(path), values, forms)

    def told(self, template: str, agent: str, state: Any, values: dict[str, Any]) -> str:
        """Return a template filled in for an agent, with its `name` and `persona`.

        `b` marks off what others said: nobody knew it who wrote before this revision of `state`.
        """
        from council.archive import artifacts  # late: as above

        soul = self.soul(agent)
        persona = soul.persona.strip() if soul else ""
        own: dict[str, Any] = {"name": self.settings.agent(agent, soul).name, "persona": persona}
        shown = [one["id"] for one in values.get("texts", ())]
        own["artifacts"] = [one for one in artifacts.named(f"{values}") if one not in shown]
        boundary = ids.digest(f"{state.mark}{values}")[:8]
        return self.filled(template, {**own, "b": boundary, **values})

    def check_format(self, is_look: bool = False) -> None:
        """Write `.council/format`, unless for a look, or refuse a folder of another version."""
        path = f"{self.state_folder}/format"
        found = files.content(path)
        if found is None:
            from council.setup import init  # late: only in a new workspace

            init.refuse_earlier(self.state_folder)
            if not is_look or os.access(f"{self.root}/memory/shared", os.W_OK):
                os.makedirs(self.state_folder, exist_ok=True)
                files.replace(path, f"{FORMAT}\n".encode())
        elif found.strip() != FORMAT.encode():
            what = f"{path} says {found[0]!r}; this version knows {FORMAT}"
            raise Invalid("newer-format", what, "install the version of council that wrote it")

    def conversation(self, name: str) -> Document[Any]:
        """Return the open conversation of that exact name, which need not exist yet."""
        from council.councils import kind  # late: `init` and `schedule` need no conversation

        folder = f"{self.state_folder}/conversations/{name}"
        return Document(folder, self.page_of(name), kind, now=self.fixed)

    def closed(self, ident: str) -> Document[Any]:
        """Return the conversation of that id that is over; it has no page."""
        from council.councils import kind  # late: as above

        return Document(f"{self.state_folder}/closed/{ident}", None, kind)

    def page_of(self, name: str) -> str:
        """Return the path of a conversation's page."""
        return f"{self.root}/memory/shared/council-{name}-conversation.md"

    def registry(self) -> Document[Any]:
        """Return the registry: who may be run, who rests, and what was used."""
        from council.agents import registry  # late: only what starts or counts runs needs it

        return Document(f"{self.state_folder}/registry", None, registry, now=self.fixed)

    def soul(self, agent: str) -> Soul | None:
        """Return an agent's SOUL.md, None where it has none."""
        from council.agents import souls  # late: conversations name their members themselves

        return souls.read(self.root, agent)

    def agent(self, ident: str) -> AgentSettings:
        """Return the complete settings of an agent."""
        return self.settings.agent(ident, self.soul(ident))

    def agents(self) -> dict[str, AgentSettings]:
        """Return all agents of the workspace by id."""
        from council.agents import souls  # late: as above

        return souls.agents(self.root, self.settings)

    def conversations(self) -> list[str]:
        """Return the names of the open conversations, also of pages that no command has seen."""
        self.fetch()
        found = files.names(f"{self.root}/memory/shared")
        pages = {n[8:-16] for n in found if n[:8] == "council-" and n[-16:] == "-conversation.md"}
        folders = {n for n in files.names(f"{self.state_folder}/conversations") if n[0] != "."}
        return sorted([*(pages & folders), *filter(self.is_open, pages ^ folders)])

    def is_open(self, name: str) -> bool:
        """Return whether a conversation of exactly this name is open, perhaps damaged."""
        try:
            return ids.is_name(name) and self.conversation(name).exists()
        except Refusal:
            return True  # damaged: whoever reads it names the fault

    def find(self, which: str = "") -> str:
        """Return the name of the open conversation that a word means.

        The word is its name, its id, the beginning of either, or a part of its topic; "" is
        COUNCIL_NAME, else the one called `active`, else the only one that is open.
        """
        which = which or self.env.get("COUNCIL_NAME", "") or DEFAULT
        if self.is_open(which):
            return which
        word = "" if which == DEFAULT else " ".join(which.split()).casefold()
        names = self.conversations()
        if word:
            from council.archive import minutes  # late: most names are exact

            ended = minutes.rows(self.root)
            if any(which in (row.get("name"), row["conversation"]) for row in ended):
                raise NotFound("over", f"{which} is over", f"read it: council show {which}")
        found = [name for name in names if name.startswith(word)]
        found = found or [name for name in names if word and self._is_about(name, word)]
        if len(found) == 1:
            return found[0]
        if found:
            what = f"{which!r} fits several conversations" if word else "several are open"
            hint = f"say which with --name: {', '.join(found[:10])}"
            raise Usage("ambiguous", what, hint, candidates=found)
        if kind := self.other(which):
            what = f"{which} is no conversation but a {kind.name}"
            raise NotFound("not-found", what, f"see: council show {which}")
        what = f"no open conversation fits {which!r}" if word else "no conversation is open"
        hint = f"open are: {', '.join(names[:10])}" if names else "open one: council convene TOPIC"
        raise NotFound("not-found", what, hint)

    def _is_about(self, name: str, word: str) -> bool:
        try:
            state = self.conversation(name).peek()
        except Refusal:
            return False
        return state.conversation_id.startswith(word) or word in state.topic.casefold()


def find_root(start: str, env: dict[str, str], given: str = "") -> str:
    """Return the workspace: `--root`, else COUNCIL_ROOT, else the nearest one upwards."""
    named, folder = given or env.get("COUNCIL_ROOT", ""), os.path.abspath(start)
    if named:
        root = os.path.join(folder, named)
        if not os.path.isdir(root):
            raise NotFound("no-workspace", f"no folder {root}", f"make one: council init {root}")
        return os.path.abspath(root)
    while not any(os.path.exists(f"{folder}/{one}") for one in ("council.toml", "memory/shared")):
        if folder == "/":
            what = f"no workspace in {start} or above it"
            raise NotFound("no-workspace", what, "make one here: council init")
        folder = os.path.dirname(folder)
    return folder


def clock(env: dict[str, str], given: str = "") -> datetime | None:
    """Return the instant that `--now` or COUNCIL_NOW sets, None for the clock of the machine."""
    value = given or env.get("COUNCIL_NOW", "")
    if value and env.get("COUNCIL_TOKEN"):
        raise Usage("no-clock", "inside a run the clock cannot be set", "leave out --now")
    now = times.instant(value) if value else None
    if now and not 1970 <= now.year <= 9000:  # beside them no deadline can be counted
        raise Usage("bad-instant", f"no such time: {value[:60]!r}", "use a year from 1970 to 9000")
    return now
