"""Messages reach their agent in its next prompt, and once only."""

import pytest

from council.app import App
from council.delegation import service
from council.kernel import times
from council.kernel.errors import Conflict
from council.setup import init


@pytest.fixture
def app(tmp_path):
    init.init(str(tmp_path), ["owl", "jay"], "en", {})
    return App(str(tmp_path), times.instant("2026-11-28T09:00:00Z"), {"USER": "ann"})


def test_a_message_is_quoted_until_it_stood_in_a_prompt(app):
    service.message(app, "The pipe leaks.", "jay", "owl", trace="t1")
    told = app.news("owl")
    assert "from jay]]\nThe pipe leaks.\n[[" in told
    assert app.news("owl", "2026-11-28T08:59:59Z") == told  # it came later
    assert app.news("owl", "2026-11-28T09:00:00Z") == told
    assert app.news("owl") == app.news("jay") == ""
    assert [one["seen"] for one in service.inbox(app, "owl", reads=False)] != [""]


def test_who_reads_its_inbox_has_seen_it(app):
    service.message(app, "For owl.", "jay", "owl", trace="t1")
    service.message(app, "For jay.", "owl", "jay", trace="t2")
    assert [one["seen"] for one in service.inbox(app, "owl", reads=False)] == [""]
    assert service.inbox(app, "owl", reads=True)[0]["seen"]
    assert app.news("owl") == ""
    assert "For jay." in app.news("jay")


def test_a_key_leaves_one_message(app):
    sent = [service.message(app, "Once.", "jay", "owl", trace="t1", key="k") for _ in "12"]
    assert sent[0] == sent[1]
    assert len(service.inbox(app, "owl", reads=False)) == 1
    with pytest.raises(Conflict):
        service.message(app, "Twice.", "jay", "owl", trace="t1", key="k")
