"""What an agent's words say: cleaned, found, read, and what is missing named.

Everything an agent answers passes here before anything is concluded from it:
turns, votes, syntheses, contributions, results, messages in rooms, protocol
lines. Doubt is a value: a part is stated, not stated, or contradictory.
"""
