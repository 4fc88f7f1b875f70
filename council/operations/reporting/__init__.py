"""What is told to people and programs: stories, explanations, exports, hooks."""
