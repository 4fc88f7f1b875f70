"""Rooms: channels in which agents speak in turn (document 001)."""
