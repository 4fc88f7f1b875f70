"""Agents and people decide a question together, in files."""

__version__ = "0.3.0"
