"""Well-known agent programs: a row says how one is run and what it needs of its surroundings.

Each row was checked against the named version: the prompt goes in by standard input, the output has
a form in which answer, tokens, cost and failure are told apart (`outputs.py`, a reader by the name
of the row), and the program may only read where it accepts that. A row names the variables
with its keys and those with its places, since no program finds its provider without them;
proxies and certificates reach every program (`environment.py`).

Source: CL-002, CL-005, `cli.md` section 5.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from council.core.record import Record


class Preset(Record):
    """One agent program.

    Args:
        argv: The command.
        model: How a model is asked for, put in when the agent has one.
        tail: What stands after the model.
        needs_model: The tool has no model of its own.
        keys: Variables that hold its keys; no log shows their values.
        places: Variables that say where its provider and its own settings are.
        could_use: Variables it reads where they are set, which only the settings let through.
        escaped: A letter before which it takes words of its prompt for the name of a file, which it
            then reads in; a backslash before it keeps it from that.
        keyless_exit: The exit code that says that it has no key, 0 for none.
        structured: Its output is read by the reader of its name, not taken as it stands.
        first_output_s: How long a healthy run may be silent before it shows a sign of its model,
            0 for a program that prints nothing before a whole message is there.
        version: The version the row was checked against.
        note: What the tool cannot be held to.
    """

    argv: tuple[str, ...]
    model: tuple[str, ...] = ("--model", "{model}")
    tail: tuple[str, ...] = ()
    needs_model: bool = False
    keys: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    could_use: tuple[str, ...] = ()
    escaped: str = ""
    keyless_exit: int = 0
    structured: bool = True
    first_output_s: int = 0
    version: str
    note: str = ""

    @property
    def env(self) -> tuple[str, ...]:
        """The variables it gets beyond the common ones."""
        return (*self.keys, *self.places)

    def taking(self, prompt: str) -> str:
        """Return a prompt so that the program takes it as it stands (`trust.md`)."""
        return prompt.replace(self.escaped, f"\\{self.escaped}") if self.escaped else prompt

    def given(self, answer: str) -> str:
        """Return an answer without the backslashes that it took over from its prompt."""
        return answer.replace(f"\\{self.escaped}", self.escaped) if self.escaped else answer

    def command(self, model: str) -> list[str]:
        """Return the argv for a model, "" for the tool's own choice."""
        asked = [part.replace("{model}", model) for part in self.model] if model else []
        return [*self.argv, *asked, *self.tail]


def dropped(program: str, environ: Mapping[str, str], seen: Mapping[str, str]) -> Sequence[str]:
    """Return the variables that a program is known to use, that are set, and that it does not get.

    Args:
        program: The name of a row, or a command that may be one.
        environ: The environment of the caller.
        seen: What of it the program gets.

    Source: CL-005.
    """
    row = PRESETS.get(os.path.basename(program))
    wanted = (*row.env, *row.could_use) if row else ()
    return [name for name in wanted if environ.get(name) and name not in seen]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_PROVIDERS = _words(
    "ANTHROPIC_API_KEY OPENAI_API_KEY GEMINI_API_KEY GOOGLE_API_KEY OPENROUTER_API_KEY "
    "GROQ_API_KEY MISTRAL_API_KEY DEEPSEEK_API_KEY XAI_API_KEY"
)
_WHOLE_MESSAGES = "prints nothing before a message is whole: a hang lasts until the time limit"

PRESETS: dict[str, Preset] = {
    "claude": Preset(
        # Only tools that read exist, and whatever else would ask is denied. Parts of messages
        # are asked for as signs of the model: without them it is silent while it writes.
        argv=_words(
            "claude --print --output-format=stream-json --verbose --include-partial-messages "
            "--no-session-persistence --permission-mode=dontAsk --tools=Read,Grep,Glob"
        ),
        keys=_words("ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN CLAUDE_CODE_OAUTH_TOKEN"),
        places=_words("ANTHROPIC_BASE_URL ANTHROPIC_MODEL CLAUDE_CONFIG_DIR"),
        could_use=_words("ANTHROPIC_CUSTOM_HEADERS CLAUDE_CODE_USE_BEDROCK CLAUDE_CODE_USE_VERTEX"),
        escaped="@",
        first_output_s=300,
        version="2.1.330",
    ),
    "codex": Preset(
        # A council need not lie in a git repository, and nothing is written there.
        argv=_words(
            "codex exec --json --sandbox=read-only --skip-git-repo-check --ephemeral --color=never"
        ),
        tail=_words("-"),
        keys=_words("OPENAI_API_KEY CODEX_API_KEY"),
        places=_words("CODEX_HOME OPENAI_BASE_URL"),
        version="0.169.0",
        note=_WHOLE_MESSAGES,
    ),
    "gemini": Preset(
        # Not `plan`: without a person that mode approves its own plan and carries it out.
        # In `default` every tool that would ask is denied. An untrusted folder ends the run.
        argv=_words("gemini --skip-trust --approval-mode=default --output-format=stream-json"),
        keys=_words("GEMINI_API_KEY GOOGLE_API_KEY"),
        places=_words(
            "GOOGLE_GEMINI_BASE_URL GOOGLE_VERTEX_BASE_URL GOOGLE_CLOUD_PROJECT "
            "GOOGLE_CLOUD_LOCATION GOOGLE_GENAI_USE_VERTEXAI GOOGLE_GENAI_USE_GCA "
            "GOOGLE_APPLICATION_CREDENTIALS GEMINI_CLI_HOME"
        ),
        escaped="@",
        keyless_exit=41,
        version="0.61.0",
        note="does not show what it thinks: a hang lasts until the time limit",
    ),
    "opencode": Preset(
        argv=_words("opencode run --agent=plan --format=json"),
        places=_words("OPENCODE_CONFIG XDG_CONFIG_HOME XDG_DATA_HOME"),
        could_use=(*_PROVIDERS, "OPENCODE_API_KEY"),
        version="1.18.33",
        note="keys of providers are read from its own store; others are added in the settings; "
        + _WHOLE_MESSAGES,
    ),
    "ollama": Preset(
        argv=_words("ollama run --hidethinking --nowordwrap"),
        model=_words("{model}"),
        needs_model=True,
        places=_words("OLLAMA_HOST"),
        structured=False,
        version="0.33",
        note="a bare model: it has no tools",
    ),
    "llm": Preset(
        argv=_words("llm prompt --no-stream --no-log --usage"),
        keys=_words("OPENAI_API_KEY"),
        places=_words("LLM_USER_PATH OPENAI_BASE_URL"),
        could_use=_words("ANTHROPIC_API_KEY GEMINI_API_KEY LLM_GEMINI_KEY OPENROUTER_KEY"),
        version="0.36",
        note="a bare model: it has no tools; " + _WHOLE_MESSAGES,
    ),
}
