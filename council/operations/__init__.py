"""One function for each thing a user can do."""
