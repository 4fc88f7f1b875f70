"""The web: parse, carry out one command, serialise; the pages and their live events."""
