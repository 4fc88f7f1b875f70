"""Ready-made commands for well-known agent programs.

Each row was checked against the named version of the tool: the prompt goes in
by standard input, the answer comes out on standard output, and the tool may
only read where it accepts that. A preset also names the variables that hold
the key and the place of the tool's own settings, since no program finds its
provider without them.

Source: `cli.md` section 5.
"""

from __future__ import annotations

from council.core.record import Record


class Preset(Record):
    """One agent program.

    Args:
        argv: The command.
        model: How a model is asked for, put in when the agent has one.
        tail: What stands after the model.
        needs_model: The tool has no model of its own.
        env: Variables the tool needs beyond the common ones.
        version: The version the row was checked against.
        note: What the tool cannot be held to.
    """

    argv: tuple[str, ...]
    model: tuple[str, ...] = ("--model", "{model}")
    tail: tuple[str, ...] = ()
    needs_model: bool = False
    env: tuple[str, ...] = ()
    version: str
    note: str = ""

    def command(self, model: str) -> list[str]:
        """Return the argv for a model, "" for the tool's own choice."""
        asked = [part.replace("{model}", model) for part in self.model] if model else []
        return [*self.argv, *asked, *self.tail]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


PRESETS: dict[str, Preset] = {
    "claude": Preset(
        # Only tools that read exist, and whatever else would ask is denied.
        argv=_words(
            "claude --print --output-format=text --no-session-persistence "
            "--permission-mode=dontAsk --tools=Read,Grep,Glob"
        ),
        env=_words(
            "ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_BASE_URL "
            "CLAUDE_CODE_OAUTH_TOKEN CLAUDE_CONFIG_DIR"
        ),
        version="2.1.330",
    ),
    "codex": Preset(
        # A council need not lie in a git repository, and nothing is written there.
        argv=_words(
            "codex exec --sandbox=read-only --skip-git-repo-check --ephemeral --color=never"
        ),
        tail=_words("-"),
        env=_words("OPENAI_API_KEY CODEX_API_KEY CODEX_HOME"),
        version="0.169.0",
    ),
    "gemini": Preset(
        # Not `plan`: without a person that mode approves its own plan and carries it out.
        # In `default` every tool that would ask is denied. An untrusted folder ends the run.
        argv=_words("gemini --skip-trust --approval-mode=default --output-format=text"),
        env=_words(
            "GEMINI_API_KEY GOOGLE_API_KEY GOOGLE_CLOUD_PROJECT GOOGLE_CLOUD_LOCATION "
            "GOOGLE_GENAI_USE_VERTEXAI GOOGLE_GENAI_USE_GCA"
        ),
        version="0.61.0",
    ),
    "opencode": Preset(
        argv=_words("opencode run --agent=plan"),
        env=_words("OPENCODE_CONFIG XDG_CONFIG_HOME XDG_DATA_HOME"),
        version="1.18.33",
        note="keys of providers are read from its own store; others are added in the settings",
    ),
    "ollama": Preset(
        argv=_words("ollama run --hidethinking --nowordwrap"),
        model=_words("{model}"),
        needs_model=True,
        env=_words("OLLAMA_HOST"),
        version="0.33",
        note="a bare model: it has no tools",
    ),
    "llm": Preset(
        argv=_words("llm prompt --no-stream --no-log"),
        env=_words("LLM_USER_PATH OPENAI_API_KEY"),
        version="0.36",
        note="a bare model: it has no tools",
    ),
}
