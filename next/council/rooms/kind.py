"""A room as a kind of document: its eight functions, and what the document asks besides."""

from __future__ import annotations

from council.rooms.page import adopt as adopt
from council.rooms.page import edits as edits
from council.rooms.page import render as render
from council.rooms.rules import EVENTS as EVENTS
from council.rooms.rules import due as due
from council.rooms.rules import evolve as evolve
from council.rooms.rules import new as new
from council.rooms.rules import settles as settles
from council.rooms.rules import wake as wake
from council.rooms.rules import work as work
