"""The environment of the heartbeat that a clock starts, and of the agents that it runs.

Every clock gives another environment, and the shell of a crontab reads a file of keys differently
from systemd. So council reads the file itself, the same way under each: one NAME=value a line,
nothing is expanded, quotation marks around a value are removed.
"""

from __future__ import annotations

import os

from council.kernel.ids import digest, slug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_USUAL = ("/usr/local/bin", "/usr/bin", "/bin", "/opt/homebrew/bin")


def home(env: Mapping[str, str]) -> str:
    """Return the home directory, from the password database where the clock sets none."""
    return env.get("HOME") or os.path.expanduser("~")


def config(env: Mapping[str, str]) -> str:
    """Return the folder of this user's configuration."""
    told = env.get("XDG_CONFIG_HOME", "")
    return told if os.path.isabs(told) else f"{home(env)}/.config"


def unit(root: str) -> str:
    """Return the name of a workspace's timer and file of keys: its folder and a digest."""
    return f"council-{slug(os.path.basename(root), 30) or 'workspace'}-{digest(root)[:8]}"


def path_of(root: str, env: Mapping[str, str]) -> str:
    """Return where the file of keys is: outside the workspace, where no sync tool takes it."""
    return f"{config(env)}/council/{unit(root)}.env"


def text_of(path: str) -> str:
    """Return the text of a file of keys, "" where there is none."""
    try:
        with open(path, encoding="utf-8-sig", errors="surrogateescape") as file:
            return file.read(1_000_000)
    except OSError:
        return ""


def read(path: str) -> dict[str, str]:
    """Return the variables of a file of keys; lines that are none are skipped."""
    found = {}
    for line in text_of(path).splitlines():
        name, is_set, value = map(str.strip, line.strip().removeprefix("export ").partition("="))
        if is_set and name.isidentifier() and name.isascii():
            is_quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
            found[name] = value[1:-1] if is_quoted else value
    return found


def environment(root: str, env: Mapping[str, str]) -> dict[str, str]:
    """Return `env` with the file of keys, and HOME and PATH where it lacks them.

    A variable that is set counts before the file; folders of both PATHs are searched.
    """
    extra = read(path_of(root, env))
    parts = [*env.get("PATH", "").split(":"), *extra.get("PATH", "").split(":")]
    folders = list(dict.fromkeys(filter(None, parts))) or list(_USUAL)
    return {**extra, **env, "HOME": home(env), "PATH": ":".join(folders)}
