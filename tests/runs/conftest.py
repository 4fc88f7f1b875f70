"""Programs begin in their workspace, so the process that runs them goes there; come back."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
