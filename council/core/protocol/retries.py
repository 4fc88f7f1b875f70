"""What follows on an error of a task, by its code.

Time-outs are tried again, at most twice; who cannot be had is replaced by
another worker; a faulty message has to be put right first; what is wrong with
the request itself goes to the user. A budget that is too small and a choice
that nobody made have rules of their own.

Source: PR-579, PR-580, PR-584, XC-105, A-67.
"""

from __future__ import annotations

from datetime import timedelta

RETRY = "retry-auto-max-2"
OTHER_WORKER = "fallback-other-worker"
FIX_FIRST = "no-retry-fix-first"
TELL_USER = "surface-to-user"
BUDGET_POLICY = "budget-policy"
CHOICE_POLICY = "choice-policy"

_OWN_RULES = {"E17": BUDGET_POLICY, "E23": CHOICE_POLICY, "E33": TELL_USER}
_BY_CLASS = {"1": FIX_FIRST, "2": RETRY, "3": OTHER_WORKER}


def strategy(code: str) -> str:
    """Return what follows on a code of V5: one of the words of this module.

    >>> strategy("E21"), strategy("E31"), strategy("E43")
    ('retry-auto-max-2', 'fallback-other-worker', 'surface-to-user')
    """
    return _OWN_RULES.get(code) or _BY_CLASS.get(code[1:2], TELL_USER)


def pause(retry: int, backoff: tuple[timedelta, ...]) -> timedelta:
    """Return how long to wait before the `retry`-th retry, counted from 1."""
    return backoff[min(retry, len(backoff)) - 1] if backoff else timedelta(0)


def retry_pairs(retry: int, most: int, fallback: str = "") -> dict[str, str]:
    """Return what a request says that is a retry; `fallback` is who would be next."""
    told = {"retry": str(retry), "max": str(most)}
    return {**told, "fallback": fallback} if fallback else told


def fallback_pairs(worker: str, code: str) -> dict[str, str]:
    """Return what a request says to a worker that is asked in the place of another one."""
    return {"fallback_from": worker, "reason": code}
