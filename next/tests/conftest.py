"""What holds for all tests: no property has a deadline, since machines are of any speed."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("any-machine", deadline=None)
settings.load_profile("any-machine")
