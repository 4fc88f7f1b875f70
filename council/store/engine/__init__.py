"""The engine: what a council on many machines keeps in a database, and how it gets there."""
