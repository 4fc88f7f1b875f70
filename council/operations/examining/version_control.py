"""What git has, or would take, though it must not; and new secrets instead of those it has.

Source: FW-009.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping

from council.drivers import git
from council.operations.examining.causes import Cause, cause, secrets
from council.operations.place import Place
from council.store import gitignore
from council.store.keys import renew_key, renew_token
from council.store.paths import SHARED, Workspace

_SHOWN = 3
_Listed = Callable[[str, Mapping[str, str]], list[str]]


def exposed(place: Place) -> Iterator[Cause]:
    """Return the secrets that git has, and the private files that it tracks or would take."""
    root = shlex.quote(place.root)
    if held := [what for what, path in secrets(place).items() if _has(place, path)]:
        yield cause("git-has-secret", "git", secrets=", ".join(held))
    if tracked := _private(place, git.tracked):
        named = sorted({_untracked_by(place.paths, path) for path in tracked})
        paths = " ".join(shlex.quote(os.path.relpath(one, place.root)) for one in named)
        hint = f"git -C {root} rm -r -f -q --cached -- {paths}"
        yield cause("git-tracks", "git", files=_shown(place, tracked), hint=hint)
    if taken := _private(place, git.untracked):
        hint = "; ".join(dict.fromkeys(_ignoring(place.paths, path) for path in taken))
        yield cause("git-takes", "git", files=_shown(place, taken), hint=hint)


def renew_secrets(place: Place) -> list[str]:
    """Draw the secrets of the workspace anew; return what they are called.

    Tokens of runs under way, and of servers, are worth nothing from then on.

    Raises:
        CouncilError: The disk or the engine refuses.
    """
    there = secrets(place)
    for path in there.values():
        if path == place.paths.key:
            renew_key(place.paths)
        else:
            renew_token(path)
    return list(there)


def _has(place: Place, path: str) -> bool:
    return git.has_content(path, place.environ)


def _private(place: Place, listed: _Listed) -> list[str]:
    paths = place.paths
    tops = [os.path.dirname(paths.control), paths.shared, paths.agents, f"{place.root}/{SHARED}"]
    tops += gitignore.moved_run_states(paths)
    known = (path for top in tops if os.path.isdir(top) for path in listed(top, place.environ))
    return sorted({path for path in known if gitignore.is_private(paths, path)})


def _shown(place: Place, paths: list[str]) -> str:
    named = ", ".join(os.path.relpath(path, place.root) for path in paths[:_SHOWN])
    return f"{named} (+{len(paths) - _SHOWN})" if len(paths) > _SHOWN else named


def _untracked_by(paths: Workspace, path: str) -> str:
    """Return the directory, or file, with which git stops tracking a private file."""
    return gitignore.directory_of(paths, path) or path


def _ignoring(paths: Workspace, path: str) -> str:
    """Return the command that has git ignore a private file."""
    folder, lines = gitignore.ignoring(paths, path)
    where = shlex.quote(f"{folder}/{gitignore.NAME}")
    return f"printf '\\n%s\\n' {shlex.join(lines)} >> {where}"
