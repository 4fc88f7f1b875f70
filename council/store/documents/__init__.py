"""What is committed revision by revision: a journal that is the truth, a file that shows it."""
