"""Make the prompts and take the skill into the package; pyproject.toml has everything else."""

import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

SKILL = Path("skills", "council")


class WithSkill(build_py):
    """Build the package with a copy of `skills/council`, which `council init` writes."""

    def run(self) -> None:
        """Build, then copy the skill; an editable install reads it from the checkout."""
        super().run()
        if not self.editable_mode:
            self.copy_tree(str(SKILL), str(Path(self.build_lib, "council", "skill")))


runpy.run_path(".ci/make_prompts.py", run_name="made_at_install")["main"]()
setup(cmdclass={"build_py": WithSkill})
