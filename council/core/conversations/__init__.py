"""A conversation: its values, its machine, what is due in it, and what each may see of it."""
