"""A real browser, for tests that need one."""
