"""Methods in, notifications out."""
