"""What a command acknowledged is there after a power cut. Needs root, for a file system of its own.

The file system is shut down without being flushed, as when the power fails, and mounted again.
"""

import fcntl
import os
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from tests.faults.act import act
from tests.kernel import toy
from tests.kernel.toy import AT, document, note

SHUTDOWN, WITHOUT_FLUSHING = 0x8004587D, 2

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mount"), reason="needs root"),
]


@pytest.fixture(params=["ext4", "xfs"])
def disk(request, tmp_path):
    """Return the mount point, and a function that cuts the power."""
    if not shutil.which(f"mkfs.{request.param}"):
        pytest.skip(f"needs mkfs.{request.param}")
    image, place = str(tmp_path / "image"), str(tmp_path / "disk")
    os.mkdir(place)
    with open(image, "wb") as file:
        file.truncate(320 << 20)
    subprocess.run([f"mkfs.{request.param}", "-q", image], check=True, capture_output=True)

    def mount():
        done = subprocess.run(["mount", "-o", "loop", image, place], capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"cannot mount: {done.stderr}")

    def cut():
        descriptor = os.open(place, os.O_RDONLY)
        fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", WITHOUT_FLUSHING))
        os.close(descriptor)
        subprocess.run(["umount", place], check=True)
        mount()

    mount()
    yield place, cut
    subprocess.run(["umount", place], check=False, capture_output=True)


def test_what_is_acknowledged_survives(disk):
    place, cut = disk
    act(place, 1 << 20, "open")
    cut()
    assert document(place).peek().topic == "About id1"
    notes = []
    for n in range(8):
        for k in range(n % 3 + 1):
            notes.append(f"note {n} {k}")
            document(place, segment=400).change(note(notes[-1]), by="x", at=AT)
        cut()
        assert document(place).peek().notes == notes
        assert document(place).read().notes == notes
        assert Path(f"{place}/d.md").read_text() == toy.render(document(place).peek())


def test_words_kept_aside_the_page_of_a_round_and_what_is_closed_survive(disk):
    place, cut = disk
    act(place, 1 << 20, "open")
    Path(f"{place}/d.md").write_text("words without a revision\n")
    [name] = document(place).read().kept_aside
    cut()
    kept = Path(f"{place}/.council/conversations/d/conflicts/{name}")
    assert kept.read_text() == "words without a revision\n"
    assert document(place).peek().kept_aside == [name]
    document(place).change(toy.answer("bob", "no"), by="bob", at=AT)
    document(place).change(toy.answer("ann", "yes"), by="ann", at=AT)
    cut()
    assert Path(f"{place}/d.md").read_text() == toy.render(document(place).peek())
    act(place, 1 << 20, "close")
    cut()
    assert os.listdir(f"{place}/.council/closed") == ["id1"]
    assert not os.path.exists(f"{place}/d.md") and not document(place).exists()
