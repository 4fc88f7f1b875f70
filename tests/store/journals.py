"""What the journals of tests hold."""

from __future__ import annotations

from pathlib import Path

from council.store.documents import journal, lines


def whole_texts(folder: Path) -> int:
    """Return how many texts a journal holds as a whole."""
    return sum(lines.is_whole(line.body) for line in journal.read(str(folder / journal.FILE)))


def damage(folder: Path, old: bytes, new: bytes) -> None:
    """Change bytes of a journal in their place."""
    path = folder / journal.FILE
    data = path.read_bytes()
    assert old in data
    path.write_bytes(data.replace(old, new))
