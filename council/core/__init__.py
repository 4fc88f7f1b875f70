"""The rules and values of a conversation: pure, no clock, no disk."""
