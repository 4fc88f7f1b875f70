"""A scripted answer to a message of document 002: the checks of a worker, then the script.

Every worker owes them before it works: is the message valid and meant for it,
may it be called so deep, is the budget enough, can it do that at all. What
passes is answered by the script, line by line: a letter or a code and DATA
(`S results=5`, `E33 desc=file not found`, `C question=…`, `U progress=50%`,
`X W2 call=…`), a message as it stands, or just words.

Source: PR-558, PR-559, PR-583, XC-011.
"""

from __future__ import annotations

from council.core.errors import ConversionRefusedError, InvalidMessageError
from council.drivers.runs import Answer, failed
from council.wire.carried import line_of, message_of
from council.wire.messages import parse
from council.wire.replies import reply_to_fault
from council.wire.working import Profile, is_for, refusal, written_short

TYPE_CHECKING = False
if TYPE_CHECKING:
    from council.drivers.runs import Run

WORKER = "COUNCIL_PROTOCOL_ID"
MAX_DEPTH = "COUNCIL_MAX_DEPTH"
CAPABILITIES = "COUNCIL_CAPABILITIES"
_USUAL_DEPTH = "4"


def answer(run: Run, script: str | None, estimate: int) -> Answer:
    """Return what a worker with that script answers to the message of a run.

    Args:
        run: The run; its prompt ends with the message.
        script: What the script holds for it, None for nothing.
        estimate: The tokens that the work will take.
    """
    worker = run.variables[WORKER]
    found = parse(run.prompt.strip().rpartition("\n")[2])
    if found.errors:
        return Answer(ok=True, text=reply_to_fault(found, sender=worker) or "")
    request = message_of(found)
    if not is_for(request, worker):
        return failed(f"{request.sender} may not ask {worker}: no orchestrator, no valid hand-off")
    capabilities = run.variables.get(CAPABILITIES, "")
    profile = Profile(
        worker=worker,
        caps=tuple(capabilities.split(",")) if capabilities else (),
        max_depth=int(run.variables.get(MAX_DEPTH, _USUAL_DEPTH)),
        estimate=estimate,
    )
    refused = refusal(request, profile)
    if refused is not None:
        return Answer(ok=True, text=line_of(refused, found.version))
    if not script:
        return failed("no scripted answer")
    lines = []
    for line in script.split("\n"):
        try:
            meant = [line_of(one, found.version) for one in written_short(line, request, worker)]
        except (InvalidMessageError, ConversionRefusedError) as error:
            return failed(f"the script says what no message can say: {error.message}")
        lines += meant or [line]
    return Answer(ok=True, text="\n".join(lines))
