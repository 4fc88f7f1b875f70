"""The lines of document 002, V1 to V5: read, checked, built, converted, signed; all pure."""
