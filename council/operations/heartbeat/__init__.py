"""The heartbeat: it scans, takes the steps that are due, and starts the runs that are due."""
