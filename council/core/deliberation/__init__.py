"""What structured turns and votes come to: stances, verdicts, changes of mind."""
