"""What is told of events: traces, stories, exports, the board."""
