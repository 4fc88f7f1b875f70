"""Document 002: messages between agents, and the tasks that they carry."""
