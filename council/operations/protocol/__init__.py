"""What is done with messages and tasks: sent, served, shown."""
