"""Bytes by digest, and minutes."""
