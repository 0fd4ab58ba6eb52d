"""From one idle thread to one output."""
