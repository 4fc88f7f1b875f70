"""How an agent is started: one module a driver."""
