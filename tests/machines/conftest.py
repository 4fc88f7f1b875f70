"""What the tests of many machines share."""

import pytest

from tests.machines.workspaces import Machine


@pytest.fixture
def machines(server, tmp_path):
    database = server.database()
    made = [Machine(tmp_path, number, server, database) for number in (0, 1)]
    yield made
    for one in made:
        one.die()
        one.net.close()
