"""Rows: each store owns the SQL of its tables."""
