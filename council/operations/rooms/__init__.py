"""What is done with channels: turns, discussions, and the heartbeat over rooms."""
