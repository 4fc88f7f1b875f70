"""Starting agents, and what came of it."""
