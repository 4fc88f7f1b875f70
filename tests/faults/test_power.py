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
from tests.kernel.toy import AT, document

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
    page, notes = Path(f"{place}/d.md"), []
    act(place, 1 << 20, "open")
    for n in range(8):
        for k in range(n % 3):
            notes.append(f"note {n} {k}")
            act(place, 400, notes[-1])
        cut()
        assert document(place).peek().notes == notes == document(place).read().notes
        assert page.read_text() == toy.render(document(place).peek())
    page.write_text("words without a revision\n")
    [name] = document(place).read().kept_aside
    cut()
    kept = Path(f"{place}/.council/conversations/d/conflicts/{name}")
    assert kept.read_text() == "words without a revision\n"
    assert document(place).peek().kept_aside == [name]
    document(place).change(toy.answer("bob", "no"), by="bob", at=AT)
    document(place).change(toy.answer("ann", "yes"), by="ann", at=AT)
    cut()
    assert page.read_text() == toy.render(document(place).peek())  # of the next round
    act(place, 1 << 20, "close")
    cut()
    assert os.listdir(f"{place}/.council/closed") == ["id1"]
    assert not page.exists() and not document(place).exists()
