"""Trials: whether a council decides better than its members, measured on known questions."""
