"""An editor that types anywhere, and saves what may be stale by now in several ways."""

import os
import re
from pathlib import Path

TOOLS = (  # what formatters and crashes do to lines
    lambda lines, rng: [f"**{line}**" if line[:5] == "typed" else line for line in lines],
    lambda lines, rng: [" " + line if line[:2] == "- " else line for line in lines],
    lambda lines, rng: [part for line in lines for part in ((line, "") if line else ("",))],
    lambda lines, rng: lines[: rng.randrange(len(lines))],
)


def typed_in(text):
    """Return the words of an editor in a text."""
    return set(re.findall(r"typed\d+x", text))


class Editor:
    """An editor with a buffer: what it typed into it counts once it is saved.

    `marks` are lines that it may change as a whole: (old end, new end).
    """

    def __init__(self, rng, path, marks=()):
        self.rng, self.path, self.marks = rng, path, marks
        self.buffer, self.typed, self.count = "", set(), 0
        self.open_file, self.copied, self.there = None, "", set()

    def load(self):
        self.buffer, self.typed = Path(self.path).read_text(), set()
        self.there = typed_in(self.buffer)
        if self.rng.random() < 0.2 and self.open_file is None:
            self.open_file = open(self.path, "r+")  # noqa: SIM115 - kept open

    def word(self):
        self.count += 1
        self.typed.add(f"typed{self.count}x")
        return f"typed{self.count}x"

    def change(self):
        lines, rng = self.buffer.split("\n"), self.rng
        at = rng.randrange(len(lines))
        what = rng.randrange(9)
        if what < 3:
            lines.insert(at, self.word())
        elif what == 3:
            drafts = [n for n, line in enumerate(lines) if line.startswith("<!--council:draft")]
            if drafts:
                lines.insert(rng.choice(drafts) + 1, self.word())
        elif what == 4:
            del lines[at : at + rng.choice((1, 1, 1, 8))]
        elif what < 7:
            self.copied += lines[at]
            lines.insert(rng.randrange(len(lines)), lines.pop(at) if what == 5 else lines[at])
        elif what == 7:
            old, new = rng.choice(self.marks)
            places = [n for n, line in enumerate(lines) if line.endswith(old)]
            if places:
                n = rng.choice(places)
                lines[n] = lines[n].replace(old, new)
        else:
            lines = rng.choice(TOOLS)(lines, rng)
        self.buffer = "\n".join(lines)
        self.typed = {word for word in self.typed if word in self.buffer}

    def save(self, between):
        """Save the buffer; return the words that have to be found from now on."""
        way = self.rng.choice(("rename", "place", "two", "append", "open"))
        if way == "rename":
            Path(self.path + "~").write_text(self.buffer)
            os.rename(self.path + "~", self.path)
            self.close()  # what it had open may now have no name
        elif way == "append":
            self.typed = set()
            with open(self.path, "a") as page:
                page.write(f"\n{self.word()}\n")
        elif way == "open" and self.open_file is not None:
            self.open_file.seek(0)
            self.open_file.truncate()
            self.open_file.write(self.buffer)
            self.open_file.flush()
        else:
            half = len(self.buffer) // 2 if way == "two" else 0
            with open(self.path, "w") as page:
                page.write(self.buffer[:half])
                page.flush()
                if way == "two":
                    between()
                page.write(self.buffer[half:])
        typed, self.typed = self.typed, set()
        if self.rng.random() < 0.3:
            self.close()
        return typed

    def close(self):
        if self.open_file is not None:
            self.open_file.close()
            self.open_file = None
