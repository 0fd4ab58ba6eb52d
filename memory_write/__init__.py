"""What is learned: the two phases, their scheduler, and what a person may order."""
