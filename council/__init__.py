"""Deliberation of agents and people through files."""

__version__ = "0.1.0"
