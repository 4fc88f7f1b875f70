"""What one agent may ask of another, artifacts, and which agent something goes to."""
