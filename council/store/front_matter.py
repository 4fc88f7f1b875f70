"""Front matter: the YAML between two fences at the beginning of a text."""

from __future__ import annotations

import re

from council.core.reading import bounded_yaml
from council.core.record import Any


def parted(text: str) -> tuple[dict[str, Any], str]:
    """Return what the front matter of a text says, and the text below it.

    Raises:
        TooDeepError: It is nested too deep to be read.
        Exception: It is no YAML; the errors of that library have no one base.
    """
    import yaml  # `frontmatter` brings as much again, which `status` would feel

    parts = re.split(r"^-{3,}\s*$", text, maxsplit=2, flags=re.MULTILINE)
    if len(parts) < 3:  # there is no second fence
        return {}, text
    found = yaml.load(bounded_yaml(parts[1]), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return (found if isinstance(found, dict) else {}), parts[2].strip()


def fenced(values: dict[str, Any]) -> str:
    """Return front matter that says `values`, each in one line, in their order."""
    import frontmatter  # brings the YAML library

    post = frontmatter.Post("", **values)
    head = frontmatter.dumps(
        post, sort_keys=False, width=2**30, allow_unicode=True, default_flow_style=None
    )
    return head.rstrip()
