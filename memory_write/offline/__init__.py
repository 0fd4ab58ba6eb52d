"""Extraction and consolidation by rules, without a model."""
