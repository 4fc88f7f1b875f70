"""The words that stand for agents in a text.

Source: DL-014, XC-101.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

_JOINTS = frozenset("-_")


class Names:
    """The words after `@` that stand for agents: their ids and their display names.

    Looking one up costs the number of different lengths, not of names.
    """

    def __init__(self, known: Iterable[tuple[str, str]]) -> None:
        self._by_length: dict[int, dict[str, str]] = {}
        for name, agent in known:
            if name:
                self._by_length.setdefault(len(name), {})[name.casefold()] = agent
        self._lengths = sorted(self._by_length, reverse=True)

    def mentions(self, line: str) -> Iterator[tuple[int, str]]:
        """Yield the place of each `@` that names an agent, and the agent."""
        at = line.find("@")
        while at >= 0:
            if at == 0 or not line[at - 1].isalnum():
                agent = self.at(line, at + 1)
                if agent:
                    yield at, agent
            at = line.find("@", at + 1)

    def at(self, line: str, start: int) -> str:
        """Return the agent whose name stands at `start`, the longest one first, "" for none."""
        return self.found_at(line, start)[0]

    def found_at(self, line: str, start: int) -> tuple[str, int]:
        """Return the agent whose name stands at `start` and where the name ends."""
        for length in self._lengths:
            end = start + length
            agent = self._by_length[length].get(line[start:end].casefold())
            if agent and _ends_a_name(line, end):
                return agent, end
        return "", start


def _ends_a_name(line: str, end: int) -> bool:
    """Return true if a name may end at `end`: `@ann` is not named by `@anna` nor by `@ann-x`."""
    after = line[end : end + 2]
    return not after[:1].isalnum() and not (after[:1] in _JOINTS and after[1:].isalnum())
