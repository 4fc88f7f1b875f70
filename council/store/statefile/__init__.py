"""A conversation file: text to values and back, and what people changed in it."""
