"""Channels: who has the floor, when a room sleeps, how a discussion ends."""
