"""The five things that delivery needs, done by a channel that is a folder."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from council.core.rooms import floor
from council.core.rooms.channels import RULES, Channel, Member, Message, Mode
from council.store.paths import Workspace
from council.store.rooms.channels import Channels
from council.store.rooms.delivery_folder import FolderDelivery

NOW = datetime(2026, 2, 8, 20, 0, tzinfo=UTC)


@pytest.mark.req("DG-143")
def test_a_folder_delivers_and_what_was_deleted_is_not_seen(workspace: Path):
    store = Channels(Workspace(str(workspace)), lambda name: Member(account=name), RULES)
    made = Channel(
        channel_id="weather",
        name="weather",
        mode=Mode.CHAT,
        created_at=NOW,
        updated_at=NOW,
        members={"owl": Member(account="owl", agent="owl")},
    )
    store.create(floor.opened(made, NOW).channel, NOW, [])

    with store.open("weather", NOW) as session:
        delivery = FolderDelivery(session)
        first = delivery.post(Message(id=1, at=NOW, author="owl", content="one"))
        second = delivery.post(Message(id=1, at=NOW, author="moderator", content="signal"))
        delivery.delete(second.id)
        third = delivery.post(Message(id=1, at=NOW, author="owl", content="two"))

        assert (first.id, second.id, third.id) == (1, 2, 4)
        assert [one.content for one in delivery.messages_after(0)] == ["one", "two"]
        assert [one.content for one in delivery.messages_after(1)] == ["two"]
        assert list(delivery.members()) == ["owl"]
        assert delivery.may_administer()
