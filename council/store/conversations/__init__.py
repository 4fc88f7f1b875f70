"""Conversations on the disk: locked, journalled, recovered, closed, forgotten."""
