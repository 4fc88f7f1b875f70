"""HTTP: the interface for programs, the stream of events and the pages."""
