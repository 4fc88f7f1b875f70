"""Minutes: one file that a stranger can read, and the folder of all of them."""
