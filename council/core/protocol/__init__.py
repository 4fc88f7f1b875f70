"""Document 002: messages as values, the registry, tasks and the orchestrator."""
