"""The memory folder and its private git baseline."""
