"""Each command: its row in the table, and the function that carries it out."""
