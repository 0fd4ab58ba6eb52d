"""What lasts: rows, rollouts, the memory workspace, and the rules on both."""
