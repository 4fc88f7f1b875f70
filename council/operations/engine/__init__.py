"""One council on many machines: membership, the replica, the link."""
