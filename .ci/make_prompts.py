"""Make plain modules of the package from the templates in council/prompts.

The template engine compiles a template to Python; what it made is written
down here, one module a prompt with all that it includes, and runs without
the engine against the few lines of `operations.conversations.prompts`. A template that needs
more than those know is refused here, when it is made, not where it is used.

Called by setup.py, hence by every install, and by set_up_venv.py, hence by
make. It does nothing where what was made is still that of the templates.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "council" / "prompts"
MADE = ROOT / "council" / "operations" / "conversations" / "made_prompts"
RUNTIME = "council.operations.conversations.prompts"
# What compiled templates ask of the engine, and what `prompts` calls it.
KNOWN = {
    "LoopContext": "Loop",
    "TemplateRuntimeError": "UnknownError",
    "Undefined": "nothing",
    "internalcode": "unchanged",
    "missing": "MISSING",
    "str_join": "joined",
}
FILTERS = ("default", "format", "join", "length", "sort")
OUR_FILTERS = ("below", "fault", "line", "mark", "name", "said", "shell")
ROOT_FUNCTION = "def root(context, missing=missing, environment=environment):"


def main() -> None:
    """Make all modules, unless they are there already."""
    digest = digest_of_sources()
    if is_made(digest):
        return
    modules = {
        module_name(path): module_of(path)
        for path in sorted(TEMPLATES.glob("*/*.md.j2"))
        if not path.name.startswith("_")
    }
    MADE.mkdir(exist_ok=True)
    for path in MADE.glob("*.py"):
        path.unlink()
    for name, text in modules.items():
        put(MADE / f"{name}.py", text)
    names = "".join(f'        "{name}",\n' for name in modules)
    head = '"""Made by .ci/make_prompts.py from council/prompts; not to be edited."""\n\n'
    text = f'MADE_OF = "{digest}"\nPROMPTS = frozenset(\n    (\n{names}    )\n)\n'
    put(MADE / "__init__.py", head + text)  # last: without it nothing counts as made


def digest_of_sources() -> str:
    """Return what the modules are made from as one word: the templates, and this file."""
    digest = hashlib.sha256()
    for path in [Path(__file__), *sorted(TEMPLATES.glob("*/*.j2"))]:
        content = path.read_bytes()
        digest.update(f"{path.parent.name}/{path.name} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def is_made(digest: str) -> bool:
    """Return true if the modules that are there were made from these sources."""
    try:
        return f'MADE_OF = "{digest}"\n' in (MADE / "__init__.py").read_text(encoding="utf-8")
    except OSError:
        return False


def module_name(path: Path) -> str:
    """Return the name of the module that a prompt becomes: `en_turn`."""
    return f"{path.parent.name}_{word(path.name)}"


def word(template: str) -> str:
    """Return the name of a template as a name of Python."""
    return re.sub(r"\W", "_", template.removesuffix(".md.j2"))


def module_of(path: Path) -> str:
    """Return the text of the module of one prompt.

    Raises:
        SystemExit: The template, or one that it includes, cannot be made a module.
    """
    from jinja2 import TemplateError, meta  # not there, and not needed, where all is made

    environment, names, functions = engine(), [path.name], ""
    for name in names:
        text = (path.parent / name).read_text(encoding="utf-8")
        try:
            included = [*meta.find_referenced_templates(environment.parse(text))]
            code = environment.compile(text, name, raw=True)
        except TemplateError as error:
            raise SystemExit(f"{path.parent / name}: {error}") from error
        names += [one for one in dict.fromkeys(included) if one not in names]
        _, head, body = code.partition(ROOT_FUNCTION)
        body, tail, _ = body.partition("\nblocks = {}\n")
        if not head or not tail or None in included:
            raise SystemExit(f"{path.parent / name}: jinja2 makes unknown code of it")
        functions += f"\n\ndef {word(name)}(context, missing=missing, environment=None):{body}"
    return (
        f'"""Made by .ci/make_prompts.py from {path.parent.name}/{path.name}; not to be edited."""'
        f"\n\n# mypy: ignore-errors\n{imports(functions, path)}{functions}\n\nTEMPLATES = {{\n"
        + "".join(f'    "{name}": {word(name)},\n' for name in names)
        + "}\n"
    )


def engine():
    """Return the engine, set up as `operations.conversations.prompts` sets it up, and no richer."""
    import jinja2

    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    known = {name: environment.filters[name] for name in FILTERS}
    environment.filters = {**known, **dict.fromkeys(OUR_FILTERS, str)}
    environment.tests, environment.globals = {}, {}
    return environment


def imports(functions: str, path: Path) -> str:
    """Return the line that imports what the functions ask of the engine."""
    from jinja2.runtime import exported

    found = {node.id for node in ast.walk(ast.parse(functions)) if isinstance(node, ast.Name)}
    asked = sorted(found & {*exported, "missing"})
    unknown = [name for name in asked if name not in KNOWN]
    # Inside an `if` the engine leaves it to the rendering to find that there is none of a name.
    wanted = re.findall(r"environment\.(?:filters|tests)\['(\w+)'\]", functions)
    unknown += sorted({*wanted}.difference(FILTERS, OUR_FILTERS))
    if unknown:
        raise SystemExit(f"{path} needs what prompts.py does not know: {', '.join(unknown)}")
    names = ", ".join(f"{KNOWN[name]} as {name}" for name in asked)
    return f"from {RUNTIME} import {names}"


def put(path: Path, text: str) -> None:
    """Write a file that is there whole or not at all."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


if __name__ == "__main__":
    sys.exit(main())
