"""Clients, turns, wiring."""
