"""What is recalled: injection, memory tools, citations."""
