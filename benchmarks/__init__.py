"""What commands and turns cost, measured on this machine against its own interpreter."""
