"""What is said to people and programs: stories, explanations, exports, hooks."""
