"""The extras of council: what each brings, and the command that adds one to this installation.

An installation is one of these: an application of pipx, a tool of uv, a run of uvx, or packages
that pip or uv put beside a Python. Each leaves a file by which it is known. Nothing here is read
before something is missing.

Source: TB-001.
"""

from __future__ import annotations

import json
import os
import sys
from importlib.util import find_spec

from council.core.record import Any

# Of the package; the package itself and its command are called `council`.
DISTRIBUTION = "council-files"
# By extra: the modules that are imported of what it brings.
EXTRAS = {
    "web": ("fastapi", "uvicorn", "markdown_it", "nh3"),
    "mcp": ("mcp",),
    "openai": ("openai",),
    "discord": ("hikari",),
    "postgres": ("psycopg",),
}
# How the folders of a cache are called in which uv keeps what uvx runs.
_UVX = ("archive-v", "environments-v")


def missing(extra: str) -> list[str]:
    """Return the modules of an extra that are not installed here."""
    return [module for module in EXTRAS[extra] if find_spec(module) is None]


def extra_with(module: str) -> str:
    """Return the extra that brings a module, "" for none."""
    return next((extra for extra, modules in EXTRAS.items() if module in modules), "")


def command_that_adds(extra: str, prefix: str = sys.prefix) -> str:
    """Return the command that adds an extra to the installation in `prefix`.

    It names the extras that are there already as well: pipx and uv install anew what is named.
    """
    from shlex import join, quote

    installer, origin = _traces()
    present = [one for one in EXTRAS if not missing(one)]
    everything = quote(_requirement([extra, *present], origin))
    if os.path.isfile(os.path.join(prefix, "pipx_metadata.json")):
        return f"pipx install --force {everything}"
    if os.path.isfile(os.path.join(prefix, "uv-receipt.toml")):
        return f"uv tool install --force {everything}"
    if os.path.basename(os.path.dirname(prefix)).startswith(_UVX):
        return f"uvx --from {everything} council"
    words = ["-e"] if _is_editable(origin) else []
    words.append(_requirement([extra], origin))
    python = os.path.abspath(sys.executable)
    if installer == "uv":
        return join(["uv", "pip", "install", "--python", python, *words])
    return join([*_pip(python), "install", *words])


def _traces() -> tuple[str, dict[str, Any]]:
    """Return which installer put council here, and what it noted about where it came from."""
    from importlib.metadata import distributions

    for one in distributions(name=DISTRIBUTION):
        if installer := one.read_text("INSTALLER"):  # what a build leaves in a checkout has none
            try:
                origin = json.loads(one.read_text("direct_url.json") or "{}")
            except ValueError:
                origin = {}
            return installer.strip(), origin if isinstance(origin, dict) else {}
    return "", {}


def _is_editable(origin: dict[str, Any]) -> bool:
    return bool((origin.get("dir_info") or {}).get("editable")) and bool(_path(origin))


def _path(origin: dict[str, Any]) -> str:
    """Return the file or folder that council was installed from, "" if it is gone or was none."""
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    parts = urlsplit(str(origin.get("url", "")))
    path = url2pathname(parts.path) if parts.scheme == "file" else ""
    return path if path and os.path.exists(path) else ""


def _requirement(names: list[str], origin: dict[str, Any]) -> str:
    """Return what an installer is told: council with these extras, from where it came from."""
    extras = f"[{','.join(sorted(set(names)))}]"
    path, url = _path(origin), str(origin.get("url", ""))
    if path:
        return f"{'.' if os.path.realpath(path) == os.getcwd() else path}{extras}"
    if not url or url.startswith("file:"):
        return f"{DISTRIBUTION}{extras}"
    if version := origin.get("vcs_info"):
        revision = version.get("requested_revision") or version.get("commit_id", "")
        url = f"{version.get('vcs', 'git')}+{url}{'@' * bool(revision)}{revision}"
    return f"{DISTRIBUTION}{extras} @ {url}"


def _pip(python: str) -> list[str]:
    """Return `pip` if that is the one of this Python, else how this Python runs its own."""
    from shutil import which

    own = which("pip") or ""
    is_ours = os.path.dirname(os.path.abspath(own)) == os.path.dirname(python)
    return ["pip"] if is_ours else [python, "-m", "pip"]
