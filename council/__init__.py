"""Deliberation of agents and people through files."""

__version__ = "0.2.0"
