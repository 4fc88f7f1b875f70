"""Calling a program of the user's for what it does or says at once, such as `crontab -l`."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from council.core.errors import CouncilError, NotFoundError


def called(
    argv: list[str],
    environ: Mapping[str, str],
    missing: tuple[str, str],
    hint: str,
    *,
    stdin: bytes = b"",
    timeout_s: float = 30,
) -> subprocess.CompletedProcess[bytes]:
    """Return what came of a program.

    Args:
        argv: The program and its arguments.
        environ: Its environment.
        missing: What to say where there is no such program, and what to do then.
        hint: What to do where it cannot be run.
        stdin: What it reads.
        timeout_s: How long it may take.

    Raises:
        NotFoundError: There is no such program.
        CouncilError: It cannot be run.
    """
    try:
        return subprocess.run(
            argv,
            input=stdin,
            env=dict(environ),
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except FileNotFoundError:
        raise NotFoundError(*missing) from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CouncilError(f"{argv[0]} could not be run: {error}", hint) from None
