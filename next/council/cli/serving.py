"""The command that serves pages and HTTP."""

from __future__ import annotations

from council.app import App
from council.cli.printing import Said
from council.cli.values import Given
from council.kernel.errors import Refused


def serve(app: App, given: Given) -> Said:
    """Serve the pages and HTTP until interrupted."""
    try:
        from council.web import serving  # late: an extra
    except ImportError as error:
        hint = "install it: pip install 'council-files[web]'"
        raise Refused("no-extra", f"council serve needs {error.name}", hint) from None
    made, run = serving.start(app, given.host, None if given.port in ("", None) else given.port)
    return Said(data=made, then=run)
