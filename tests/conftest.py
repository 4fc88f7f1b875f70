"""What holds for all tests: no property has a deadline, since machines are of any speed."""

import signal

import pytest
from hypothesis import HealthCheck, settings

slow = [HealthCheck.too_slow]  # a busy machine may need a second for ten examples
settings.register_profile("any-machine", deadline=None, suppress_health_check=slow)
settings.load_profile("any-machine")
signal.signal(signal.SIGINT, signal.default_int_handler)  # also where a shell had it ignored


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
