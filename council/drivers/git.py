"""What git has of a directory, or would take with `git add -A`: only read, nothing of it is run.

Every question is answered with nothing where there is no git, no repository, or none that git
agrees to read.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from council.core.errors import CouncilError
from council.drivers.short_calls import called

# A repository may name programs in its settings; those that reading could start are turned off.
_READING = ("--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def tracked(folder: str, environ: Mapping[str, str]) -> list[str]:
    """Return the absolute paths of the files below a directory that git tracks."""
    return _listed(folder, environ, "--cached")


def untracked(folder: str, environ: Mapping[str, str]) -> list[str]:
    """Return the absolute paths of the files below a directory that `git add -A` would add."""
    return _listed(folder, environ, "--others", "--exclude-standard")


def has_content(path: str, environ: Mapping[str, str]) -> bool:
    """Return true if the repository around a file has its present bytes, in any commit or none."""
    folder, name = os.path.split(path)
    blob = _read(folder, environ, "hash-object", "--", name).decode("ascii", "replace").strip()
    return bool(blob) and bool(_read(folder, environ, "cat-file", "-t", blob))


def _listed(folder: str, environ: Mapping[str, str], *which: str) -> list[str]:
    names = _read(folder, environ, "ls-files", "-z", *which).decode("utf-8", "surrogateescape")
    return [os.path.join(folder, name) for name in names.split("\0") if name]


def _read(folder: str, environ: Mapping[str, str], *words: str) -> bytes:
    own = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    argv = ["git", *_READING, "-C", folder, *words]
    try:
        done = called(argv, own, ("there is no program git here", ""), "")
    except CouncilError:
        return b""
    return b"" if done.returncode else done.stdout
