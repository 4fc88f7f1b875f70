"""Why something does not go on whose file cannot be read."""

from __future__ import annotations

from council.core.errors import CouncilError
from council.operations.place import Place
from council.operations.telling.explained import Explained

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.core.telling.stories import Subject


def broken(place: Place, about: Subject, error: CouncilError, path: str) -> Explained:
    """Explain something whose file cannot be read."""
    found = Explained(
        kind=about.kind,
        id=about.id,
        name=about.name,
        now=place.now(),
        trace=about.trace,
        path=path,
    )
    kind = "broken-file" if about.kind == "conversation" else "broken-document"
    found.hinder(kind, message=error.message)
    found.then("next-person")
    return found
