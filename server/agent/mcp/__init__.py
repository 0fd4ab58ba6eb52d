"""Tools of MCP servers that the user configured."""
