"""What is done between agents: messages, calls, artifacts, routes."""
