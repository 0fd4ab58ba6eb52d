"""Transports, peers, dispatch."""
