"""Pure rules on text that may be kept or shown."""
