"""An edge for programs that speak the Model Context Protocol: `texts/mcp.json` says what it has."""
