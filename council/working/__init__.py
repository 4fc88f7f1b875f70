"""How servers have calls carried out: by processes that live as commands do."""
