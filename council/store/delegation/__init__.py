"""Artifacts, briefs, policies, ledgers and transcripts on the disk."""
