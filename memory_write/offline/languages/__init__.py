"""What each language says when its speaker prefers, corrects, decides, asks or supposes."""
