"""What a command that an agent runs may reach, and the means that hold it there."""
