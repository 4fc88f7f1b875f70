"""How an agent is woken, and how its answer comes back."""
