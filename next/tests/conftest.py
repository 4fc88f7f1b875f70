"""What holds for all tests: no property has a deadline, since machines are of any speed."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

slow = [HealthCheck.too_slow]  # a busy machine may need a second for ten examples
settings.register_profile("any-machine", deadline=None, suppress_health_check=slow)
settings.load_profile("any-machine")
