"""What is wrong in a workspace, and what to do about it."""
