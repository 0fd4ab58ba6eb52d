"""Ranked search by meaning: vectors of units, beside the words that search goes by without them."""
