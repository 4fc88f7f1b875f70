"""Programs begin in their workspace, so the process that runs them goes there; come back."""

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
