"""The heartbeat: it looks, takes the steps that are due, and starts the runs that are owed."""
