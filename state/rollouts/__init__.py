"""The recorded file of a thread."""
