"""What is known of one agent, and what the settings say of it.

Values only: the files they are read from belong to the store, the ways to run
an agent to the drivers, and both need these words.

Source: `cli.md` section 5.
"""

from __future__ import annotations

from datetime import timedelta

from council.core.record import Any, Record

ANSWER_STDOUT = "stdout"
ANSWER_TOOL = "tool"
# The ways in which a run hands in what it says to a council.
PRINT, SHELL, MCP = "print", "shell", "mcp"
# The presets whose program is given the server of `council mcp` for a run that answers by tool.
SPEAKS_MCP = ("claude", "codex")


class Driver(Record):
    """A way to wake an agent; the module of `council.drivers` of its name says how.

    Args:
        keys: The keys of `[agents.<id>]` that it alone reads; where one is set, it is meant.
        is_tried: It needs what may be missing outside: that is a cause, and `doctor --probe` tries
            it.
        takes_long: Its runs have the time of a preset.
    """

    keys: tuple[str, ...] = ()
    is_tried: bool = False
    takes_long: bool = False


DRIVERS = {
    "manual": Driver(),
    "command": Driver(keys=("argv", "preset"), is_tried=True),
    "openai": Driver(keys=("base_url",), is_tried=True, takes_long=True),
    "openclaw": Driver(keys=("gateway",), is_tried=True, takes_long=True),
    "scripted": Driver(keys=("answers",)),
}

# The members of a rehearsal, by the language they speak: no models, and no agents of a workspace.
REHEARSERS = {"en": ("rehearser-1", "rehearser-2"), "fr": ("figurant-1", "figurant-2")}

# Zero-width joiners build emoji; no-break spaces stand before French colons.
_ALSO_PRINTABLE = {ord(letter): None for letter in "\u200c\u200d\u00a0\u202f"}


def is_rehearser(agent: str) -> bool:
    """Return true if an id is that of a member of a rehearsal (FW-006)."""
    return any(agent in members for members in REHEARSERS.values())


def is_variable(name: str) -> bool:
    """Return true if `name` can be that of an environment variable."""
    return name.isascii() and name.isidentifier()


def is_base_url(text: str) -> bool:
    """Return true if `text` can be where a server is; a name and a password do not belong there.

    >>> is_base_url("http://127.0.0.1:11434/v1"), is_base_url("https://me:key@host/v1")
    (True, False)
    """
    scheme, mark, rest = text.partition("://")
    host = rest.partition("/")[0]
    is_plain = text.isascii() and text.isprintable() and not set(text) & set(" ?#")
    return scheme in ("http", "https") and bool(mark and host) and is_plain and "@" not in host


def is_engine_url(text: str) -> bool:
    """Return true if `text` can be where PostgreSQL is; a password does not belong there.

    >>> is_engine_url("postgresql://me@a,b/council"), is_engine_url("postgresql://me:key@a/council")
    (True, False)
    """
    scheme, _, rest = text.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    is_plain = text.isascii() and text.isprintable() and " " not in text
    has_secret = (at and ":" in user) or "password" in text.lower()
    return scheme in ("postgresql", "postgres") and bool(rest) and is_plain and not has_secret


def is_private_url(text: str) -> bool:
    """Return true if what is sent to a server is read by no one on the way: https, or this machine.

    >>> [is_private_url(f"http://{one}") for one in ("127.0.0.1:8421", "[::1]", "127.0.0.1.org")]
    [True, True, False]
    """
    scheme, _, rest = text.partition("://")
    host = rest.partition("/")[0]
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    is_number = name.startswith("127.") and name.replace(".", "").isdecimal()
    is_here = is_number or name.lower() in ("localhost", "[::1]")
    return is_base_url(text) and (scheme == "https" or is_here)


def is_origin(text: str) -> bool:
    """Return true if `text` is scheme, name and perhaps port of pages, and nothing more.

    >>> is_origin("https://council.example.org"), is_origin("https://council.example.org/pages")
    (True, False)
    """
    return is_base_url(text) and "/" not in text.rstrip("/").partition("://")[2]


def with_default_port_left_out(origin: str) -> str:
    """Return an origin as a browser says it.

    >>> with_default_port_left_out("https://Council.example.org:443/")
    'https://council.example.org'
    """
    origin = origin.lower().rstrip("/")
    return origin.removesuffix({"http": ":80", "https": ":443"}[origin.partition("://")[0]])


def is_line(text: str) -> bool:
    """Return true if `text` can stand in a heading: one line, nothing that cannot be seen."""
    return text.translate(_ALSO_PRINTABLE).isprintable()


class AgentSettings(Record):
    """The table `[agents.<id>]` of `council.toml`.

    Args:
        driver: The driver by name, "" when the table does not say.
        argv: The command and its arguments, with placeholders.
        preset: The name of a ready-made argv, instead of `argv`.
        base_url: Where an OpenAI-compatible server is, "" for OpenAI's own.
        answer: Where the answer of a run comes from: `stdout` or `tool`.
        output: The preset whose form the output of `argv` has, "" for text that is the answer.
        timeout: The time limit of a run, None for the default.
        first_output: How long a run may show no sign of its model, None for the default.
        env: Names of further environment variables that a run may see.
        answers: The file of canned answers, relative to the workspace.
        gateway: The address of OpenClaw's gateway, "" to go by its command line.
        api_key_env: The variable that holds the key of a server, or the token of a gateway.
        workspace: The folder of the agent, "" for `memory/agents/<id>`.
        machines: On which machines of an engine it is run, [] for all where it has a program.
    """

    driver: str = ""
    argv: list[str] = []
    preset: str = ""
    base_url: str = ""
    answer: str = ANSWER_STDOUT
    output: str = ""
    timeout: timedelta | None = None
    first_output: timedelta | None = None
    env: list[str] = []
    answers: str = ""
    gateway: str = ""
    api_key_env: str = ""
    workspace: str = ""
    machines: list[str] = []
    name: str = ""
    emoji: str = ""
    role: str = ""
    model: str = ""
    persona: str = ""
    capabilities: list[str] = []
    handles: list[str] = []
    extra: dict[str, Any] = {}

    @property
    def way(self) -> str:
        """Return how a run hands in what it says to a council: PRINT, SHELL or MCP.

        Source: HR-028, CL-007.
        """
        if self.answer != ANSWER_TOOL:
            return PRINT
        return MCP if self.preset in SPEAKS_MCP and not self.argv else SHELL

    @property
    def implied_driver(self) -> str:
        """Return the driver the table names, or the one that its other keys only fit."""
        own = vars(self)
        meant = (name for name, one in DRIVERS.items() if any(own[key] for key in one.keys))
        return self.driver or next(meant, "")


class Agent(Record):
    """One agent of the workspace, every fact from its own place.

    `settings` are what a driver needs to run it; `faults` say which facts of
    its files could not be used; `has_own_emoji` is false where `emoji` is only the usual one.
    """

    id: str
    name: str
    emoji: str
    has_own_emoji: bool = True
    role: str = ""
    model: str = ""
    driver: str = "manual"
    capabilities: list[str] = []
    handles: list[str] = []
    persona: str = ""
    workspace: str = ""
    settings: AgentSettings
    faults: list[str] = []

    @property
    def printing(self) -> Agent:
        """Return it as it is run where the server of `council mcp` has no part: it prints."""
        if self.settings.way != MCP:
            return self
        return self.copy(settings=self.settings.copy(answer=ANSWER_STDOUT))

    @property
    def label(self) -> str:
        """Return emoji and display name, as headings show them."""
        return f"{self.emoji} {self.name}".strip()
