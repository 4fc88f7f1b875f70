"""What holds for all tests: no property has a deadline, since machines are of any speed."""

import pytest
from hypothesis import HealthCheck, settings

slow = [HealthCheck.too_slow]  # a busy machine may need a second for ten examples
settings.register_profile("any-machine", deadline=None, suppress_health_check=slow)
settings.load_profile("any-machine")


@pytest.fixture(scope="session")
def server():
    """Return a PostgreSQL server of this run's own."""
    from tests.machines.servers import Server  # only slow tests need the driver

    made = Server()
    yield made
    made.close()


@pytest.fixture(scope="session")
def anyio_backend():
    """Return what `async def` tests run on."""
    return "asyncio"
