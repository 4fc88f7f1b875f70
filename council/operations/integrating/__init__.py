"""Joining council to the programs that people use: what is put into them, and taken out again."""
