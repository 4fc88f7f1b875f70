"""Who may take part, and how their programs are run."""
