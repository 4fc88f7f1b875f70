"""Conversations: a council or a deliberation."""
