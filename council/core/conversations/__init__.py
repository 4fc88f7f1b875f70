"""A conversation: its values, its machine, what it owes, and what each may see of it."""
