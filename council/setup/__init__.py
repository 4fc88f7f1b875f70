"""Making a workspace and keeping its heartbeat."""
