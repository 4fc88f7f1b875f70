"""Forgetting for good: conversations, channels, contexts, single contributions."""
