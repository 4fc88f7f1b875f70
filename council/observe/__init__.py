"""What is open, what happened, and what is wrong."""
