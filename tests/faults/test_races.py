"""Many writers at once, and an editor that saves stale buffers: nothing is lost or doubled."""

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

from tests.faults.act import ACT, act
from tests.kernel.editor import Editor, typed_in
from tests.kernel.toy import AT, document


@pytest.mark.parametrize(
    ("writers", "times"), [(6, 2), pytest.param(32, 6, marks=pytest.mark.slow)]
)
def test_writers_and_an_editor(tmp_path, writers, times):
    folder, typed = str(tmp_path), set()
    act(folder, 1 << 20, "open")
    editor = Editor(Random(1), f"{folder}/d.md")
    notes = [[f"written {n} {k}." for k in range(times)] for n in range(writers)]
    command = [sys.executable, "-I", ACT, folder, str(1 << 20)]
    running = [subprocess.Popen([*command, *one]) for one in notes]
    while any(one.poll() is None for one in running):
        with suppress(FileNotFoundError):
            editor.load()
            editor.buffer += f"\n{editor.word()}\n"
            typed |= editor.save(lambda: None)
            document(folder).read()  # as a person who looks at what became of it
    editor.close()
    assert [one.returncode for one in running] == [0] * writers
    one = document(folder)
    state = one.read()
    written = {note for part in notes for note in part}
    assert {note for note in state.notes if note.startswith("written")} == written
    assert len(state.notes) == len(set(state.notes))
    kept = [one.read_text() for one in Path(one.folder).glob("conflicts/*")]
    assert typed and typed <= typed_in("\n".join([*state.notes, *kept]))
    one.change(lambda state: [], by="x", at=AT)
    assert not [*Path(one.folder).glob("old-*")]
