"""What a person may order: import, reset."""
