"""What codes and their categories mean, in English and French.

Source: PR-313, PR-413, PR-596.
"""

from __future__ import annotations

from council.wire.codes import CODES

MEANINGS: dict[str, tuple[str, str]] = {
    "no-error": ("no error", "pas d'erreur"),
    "file-not-found": ("file not found", "fichier introuvable"),
    "bad-format": ("bad format", "format invalide"),
    "timeout": ("timeout", "délai dépassé"),
    "resource-unavailable": ("resource unavailable", "ressource indisponible"),
    "parsing-failed": ("parsing failed", "lecture impossible"),
    "agent-busy": ("agent busy", "agent saturé"),
    "version-incompatible": ("protocol version incompatible", "version du protocole incompatible"),
    "unknown-agent": ("unknown agent", "agent inconnu"),
    "unknown-task": ("unknown task", "tâche inconnue"),
    "invalid-priority": ("invalid priority", "priorité invalide"),
    "other": ("other error", "autre erreur"),
    "bad-data-format": ("bad DATA format", "format de DATA invalide"),
    "segment-missing": ("segment missing", "segment manquant"),
    "out-of-range": ("value out of range", "valeur hors limites"),
    "id-collision": ("id collision", "identifiant déjà pris"),
    "invalid-route": ("invalid route", "route invalide"),
    "unknown-type": ("unknown message type", "type de message inconnu"),
    "invalid-state": ("invalid state or transition", "état ou transition invalide"),
    "global-timeout": ("global timeout", "délai global dépassé"),
    "response-timeout": ("response timeout", "délai de réponse dépassé"),
    "liveness-timeout": ("no sign of life in time", "signe de vie absent"),
    "bad-message-format": ("bad message format", "format du message invalide"),
    "forbidden-characters": (
        "forbidden characters in DATA",
        "caractères interdits dans DATA",
    ),
    "maximum-depth": ("maximum depth exceeded", "profondeur maximale dépassée"),
    "budget-insufficient": ("budget insufficient", "budget insuffisant"),
    "maximum-clarifications": (
        "maximum clarifications reached",
        "nombre maximal de clarifications atteint",
    ),
    "capability-not-supported": ("capability not supported", "compétence non proposée"),
    "worker-timeout": ("worker response timeout", "délai de réponse du worker dépassé"),
    "choice-timeout": ("user did not choose in time", "choix de l'utilisateur trop tardif"),
    "worker-unavailable": ("worker unavailable", "worker indisponible"),
    "worker-busy": ("worker busy", "worker saturé"),
    "external-resource-unavailable": (
        "external resource unavailable",
        "ressource externe indisponible",
    ),
    "unknown-session": ("unknown session", "session inconnue"),
    "invalid-reference": ("invalid reference", "référence invalide"),
    "version-or-authentication": (
        "protocol version incompatible, or authentication failed",
        "version du protocole incompatible, ou authentification refusée",
    ),
    "uncategorised": ("uncategorised error", "erreur non classée"),
}

CATEGORIES: dict[str, tuple[str, str]] = {
    "": ("", ""),
    "ok": ("ok", "ok"),
    "parsing": ("parsing", "lecture"),
    "resource": ("resource", "ressource"),
    "protocol": ("protocol", "protocole"),
    "timeout": ("timeout", "délai"),
    "validation": ("validation", "validation"),
    "logic": ("logic", "logique"),
    "system": ("system", "système"),
    "other": ("other", "autre"),
}


def meaning_of(code: str, version: str, lang: str = "en") -> str:
    """Return what a code means in a version, "" if the version's table lacks it."""
    key = CODES.get(version, {}).get(code)
    return MEANINGS[key][lang == "fr"] if key else ""
