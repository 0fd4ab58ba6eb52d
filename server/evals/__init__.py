"""Evals that are shipped with the program: committed corpora, and what runs them."""
