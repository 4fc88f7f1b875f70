"""Journals, pages, locks and the values that they are made of."""
