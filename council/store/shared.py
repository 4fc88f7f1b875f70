"""Files that machines share as a whole: briefs, minutes, identities, a counter, the halt.

Without an engine both functions do nothing, and nothing is loaded for them. With one, a file
is shared in three steps: `bring` it, `publish` what it is to hold, write it here. It counts
once it is published. When `publish` says that another machine was first, go on from `bring`.
What is brought once more at the end can be told apart at once from what a person makes of it.

Source: EN-007.
"""

from __future__ import annotations

from council.store.lock import engine_of


def bring(path: str) -> None:
    """Make a file here what the machines have agreed on, or publish what a person made of it.

    Raises:
        InvalidStateError: Its bytes in the engine are not what was published.
        CouncilError: The engine is not reached, or the system refuses.
    """
    engine = engine_of(path)
    if engine is not None:
        from council.store.engine.shared_files import bring

        bring(engine, path)


def publish(path: str, data: bytes | None) -> bool:
    """Let all machines have these bytes under a path, None for no file, before they are written.

    Returns:
        False when another machine has published something else since the last `bring`.

    Raises:
        CouncilError: The engine is not reached; nothing was published.
    """
    engine = engine_of(path)
    if engine is None:
        return True
    from council.store.engine.shared_files import publish

    return publish(engine, path, data)
