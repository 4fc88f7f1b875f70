"""What a heartbeat has to look at, and what it notes so as not to look again."""
