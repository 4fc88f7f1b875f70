"""Many writers at once, and an editor that saves stale buffers: nothing is lost or doubled."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.act import act
from tests.kernel.toy import AT, document

WRITE = """
import sys; sys.path.insert(0, sys.argv[2])
from tests.kernel.toy import AT, document
for n in range(int(sys.argv[4])):
    lines = [f"written {sys.argv[3]} {n}."]
    document(sys.argv[1]).change(lambda state: [{"type": "noted", "lines": lines}], by="x", at=AT)
"""
HERE = __file__.rpartition("/tests/")[0]


def save(page, text, way):
    path = f"{page}~" if way == "rename" else page
    with open(path, "a" if way == "append" else "w") as file:
        half = len(text) // 2 if way == "two" else len(text)
        file.write(text[:half])
        file.flush()
        file.write(text[half:])
    os.rename(path, page)


@pytest.mark.parametrize(
    ("writers", "times"), [(6, 2), pytest.param(32, 6, marks=pytest.mark.slow)]
)
def test_writers_and_an_editor(tmp_path, writers, times):
    folder, page = str(tmp_path), f"{tmp_path}/d.md"
    act(folder, 1 << 20, "open")
    rng, typed = random.Random(1), []
    command = [sys.executable, "-c", WRITE, folder, HERE]
    running = [subprocess.Popen([*command, str(n), str(times)]) for n in range(writers)]
    while any(one.poll() is None for one in running):
        try:
            text = Path(page).read_text()
        except FileNotFoundError:
            continue
        typed.append(f"typed{len(typed)}x")
        way = rng.choice(("rename", "place", "two", "append"))
        save(page, f"{'' if way == 'append' else text}\n{typed[-1]}\n", way)
        document(folder).read()  # as a person who looks at what became of it
    assert [one.returncode for one in running] == [0] * writers
    state = document(folder).read()
    written = [f"written {n} {k}." for n in range(writers) for k in range(times)]
    assert sorted(one for one in state.notes if one.startswith("written")) == sorted(written)
    assert len(state.notes) == len(set(state.notes))
    kept = [one.read_text() for one in Path(document(folder).folder).glob("conflicts/*")]
    assert set(typed) <= set(re.findall(r"typed\d+x", "\n".join([*state.notes, *kept])))
    document(folder).change(lambda state: [], by="x", at=AT)
    assert not [n for n in os.listdir(document(folder).folder) if n.startswith("old-")]
