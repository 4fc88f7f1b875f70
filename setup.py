"""Make the prompts; pyproject.toml says all the rest."""

import runpy

from setuptools import setup

runpy.run_path(".ci/make_prompts.py", run_name="made_at_install")["main"]()
setup()
