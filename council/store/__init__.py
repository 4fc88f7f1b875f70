"""The disk and only the disk."""
