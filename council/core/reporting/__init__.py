"""What is reported of events: traces, stories, exports, the board."""
