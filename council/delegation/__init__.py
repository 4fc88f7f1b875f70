"""Bounded delegation between agents: messages, calls, routing (document 004)."""
