"""What is done with conversations: convened, answered, prompted, judged, archived."""
