"""Programs begin in their workspace, so the process that runs them goes there; come back."""

import pytest

from tests.runs.processes import Bench


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)
