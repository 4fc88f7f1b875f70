"""Files that were planted in a workspace: data for everybody, a program for no one.

Who may write into a workspace may write below `.council/`, too, with digests that are right.
"""

from __future__ import annotations

import hashlib
import marshal
import shutil
import sys
from pathlib import Path

import jinja2
import pytest
from jinja2.sandbox import SandboxedEnvironment

import council as product

BUILT_IN = Path(product.__file__).parent / "prompts"


@pytest.fixture
def attacked(council):
    """A workspace with an open council of two agents, and a payload that would leave a trace."""
    assert council("init", "--agents", "owl,gecko").code == 0
    asked = council("convene", "Shall we build a weather bot?", "--agents", "owl,gecko")
    assert asked.code == 0, asked.err
    return council


def payload(root: Path) -> str:
    return f"open({str(root / 'executed')!r}, 'w').close()\n"


def control(root: Path) -> Path:
    return root / "memory" / "shared" / ".council"


def forget_prompts(root: Path) -> None:
    for kept in [
        *control(root).glob("*/prompts/*.prompt"),
        *control(root).glob("*/prompts/*.note"),
    ]:
        kept.unlink()


def names_of_version_one(templates: Path) -> str:
    """Return the name under which compiled templates were kept, as everybody could work it out."""
    stands = []
    for path in sorted(templates.iterdir()):
        facts = path.stat()
        stands.append(
            [str(path), facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino]
        )
    names = ["council-turn.md.j2", "turn.md.j2"]
    made_of = [product.__version__, sys.implementation.cache_tag, *names, stands]
    return hashlib.sha256(repr(made_of).encode()).hexdigest()


@pytest.mark.req("SC-001")
def test_compiled_templates_planted_in_a_workspace_are_not_run(attacked):
    folder = control(attacked.root) / "prompts"
    code = compile(payload(attacked.root) + "root = None", "turn.md.j2", "exec")
    content = marshal.dumps([("turn.md.j2", code)])
    folder.mkdir(exist_ok=True)
    entry = hashlib.sha256(content).hexdigest().encode() + b"\n" + content
    for planted in (names_of_version_one(BUILT_IN / "en"), *(p.stem for p in folder.iterdir())):
        (folder / f"{planted}.ready").write_bytes(entry)
    forget_prompts(attacked.root)

    shown = attacked("context", "--as", "owl")

    assert shown.code == 0
    assert "Shall we build a weather bot?" in shown.out
    assert not (attacked.root / "executed").exists()


@pytest.mark.req("SC-001")
def test_bytecode_of_the_template_engine_planted_in_a_workspace_is_not_run(attacked):
    own = attacked.root / "prompts" / "en"
    shutil.copytree(BUILT_IN / "en", own)
    for folder in (own, own.parent):
        cache = jinja2.FileSystemBytecodeCache(str(control(attacked.root) / "prompts"))
        Path(cache.directory).mkdir(exist_ok=True)
        for template in own.glob("*.j2"):
            bucket = cache.get_bucket(
                SandboxedEnvironment(),
                template.name,
                str(folder / template.name),
                template.read_text(encoding="utf-8"),
            )
            bucket.code = compile(payload(attacked.root), template.name, "exec")
            cache.set_bucket(bucket)
    forget_prompts(attacked.root)

    shown = attacked("context", "--as", "owl")

    assert shown.code == 0
    assert "Shall we build a weather bot?" in shown.out
    assert not (attacked.root / "executed").exists()


@pytest.mark.req("SC-001")
def test_modules_planted_where_a_watcher_was_started_are_not_imported(attacked):
    for module in ("__future__", "enum", "json", "re"):
        (attacked.root / f"{module}.py").write_text(payload(attacked.root))
    watcher = attacked.start("watch", "--advance", "--interval", "1h", "--active-interval", "1h")
    try:
        assert watcher.stdout.readline()  # it has beaten once
    finally:
        watcher.terminate()
        watcher.communicate()

    assert not (attacked.root / "executed").exists()


@pytest.mark.req("SC-001")
def test_what_commands_leave_in_a_workspace_holds_no_code(attacked):
    assert attacked("context", "--as", "owl").code == 0
    (attacked.root / "prompts").mkdir()
    (attacked.root / "prompts" / "turn.md.j2").write_text("{{ agent }}, it is your turn.\n")
    assert "owl, it is your turn" in attacked("context", "--as", "owl").out

    left = [path for path in attacked.root.rglob("*") if path.is_file()]

    assert any(path.suffix == ".prompt" for path in left)
    assert [path for path in left if b"turn.md.j2\xda" in path.read_bytes()] == []
    assert [path for path in left if path.suffix in (".ready", ".cache", ".pyc")] == []
