"""Channels on the disk: the state document, the log of messages, accounts."""
