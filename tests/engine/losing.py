"""A command whose connection is lost when its commit stands and nobody knows.

Run as a program with the words of the command.
"""

from __future__ import annotations

from typing import Any

from council.core.errors import UnreachableError


def main() -> None:
    from council.__main__ import main as council
    from council.store.engine.joined import Engine

    real = Engine.commit

    def commit(self: Engine, path: str, *given: Any, **named: Any) -> None:
        real(self, path, *given, **named)
        if path.endswith("revisions.jsonl"):
            raise UnreachableError(self.config.url, "the connection was lost")

    Engine.commit = commit  # type: ignore[method-assign]
    council()


if __name__ == "__main__":
    main()
