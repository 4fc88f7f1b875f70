"""What a heartbeat has to scan, and what it notes so as not to scan again."""
