"""Work that goes on after the command has returned."""

from __future__ import annotations

import os
import signal

import pytest

from council.operations.detach import detach


def _told_to_end():
    signal.signal(signal.SIGTERM, lambda *_: (_ for _ in ()).throw(SystemExit))
    os.kill(os.getpid(), signal.SIGTERM)


def _breaks():
    raise ValueError("this is broken")


def _run(work, log):
    """Have something done, and wait until the process that does it is gone."""
    heard, kept = os.pipe()
    os.set_inheritable(kept, True)
    detach(work, log_file=str(log), keep=(kept,))
    os.close(kept)
    assert os.read(heard, 1) == b""
    os.close(heard)


@pytest.mark.parametrize(
    ("work", "told"), [(_breaks, "ValueError: this is broken"), (_told_to_end, "")]
)
def test_a_failure_is_written_down_and_being_told_to_end_is_none(tmp_path, work, told):
    log = tmp_path / "failures.log"
    _run(work, log)
    assert (log.read_text().splitlines()[-1] if log.exists() else "") == told
