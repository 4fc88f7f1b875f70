"""Contexts, inboxes, registry, log and signatures of document 002 on the disk."""
