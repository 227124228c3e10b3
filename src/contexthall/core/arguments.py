"""Are the arguments of a call those that its tool asks for? By its JSON Schema; what is wrong becomes a sentence."""

from collections.abc import Mapping
from heapq import nsmallest
from itertools import islice
from typing import Any, NamedTuple, cast

from jsonschema import Draft202012Validator, ValidationError
from jsonschema.exceptions import best_match

from contexthall.core import limits
from contexthall.core.text import escaped, quoted, truncated

_PLAIN_TYPES = {"string": str, "boolean": bool}
_PLAIN_KEYWORDS = {"type", "description", "default"}
_OBJECT_KEYWORDS = {"type", "properties", "required", "additionalProperties"}
_COMPLAINTS = {"required": "Missing argument", "additionalProperties": "Unknown argument"}


class Faults(NamedTuple):
    """What is wrong with arguments: which of them, and the worst of it in a sentence; both empty if nothing is."""

    blamed: frozenset[str] = frozenset()
    complaint: str = ""


class ArgumentCheck:
    """The schema of one tool, compiled."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._validator = Draft202012Validator(schema)
        self._is_plain = schema.keys() <= _OBJECT_KEYWORDS
        plain = {name: each for name, each in schema.get("properties", {}).items() if each.keys() <= _PLAIN_KEYWORDS}
        self._plain = {name: _PLAIN_TYPES.get(each.get("type")) for name, each in plain.items()}
        self._required = frozenset(schema.get("required", ()))

    def faults(self, arguments: Mapping[str, Any]) -> Faults:
        if self._are_plainly_right(arguments):
            return Faults()
        judged = _worth_judging(self._schema, arguments)
        try:
            found = list(islice(self._validator.iter_errors(judged), limits.ARGUMENT_FAULTS))
        except RecursionError:
            return Faults(complaint="Invalid arguments: nested too deeply")
        if not found:
            return Faults()
        blamed = frozenset(argument for fault in found for argument in _blamed_arguments(fault))
        return Faults(blamed, _complaint(cast("ValidationError", best_match(found))))

    def _are_plainly_right(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether all arguments are such that only their type counts, which is right: most are."""
        has_all = self._is_plain and arguments.keys() >= self._required
        return has_all and all(type(value) is self._plain.get(name) for name, value in arguments.items())


def _worth_judging(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Leave out arguments that nobody knows, except the first few, which are enough for a complaint."""
    known = schema.get("properties", {})
    if len(arguments) <= len(known) + limits.UNKNOWN_ARGUMENTS:
        return arguments
    unknown = set(nsmallest(limits.UNKNOWN_ARGUMENTS, (name for name in arguments if name not in known)))
    return {name: value for name, value in arguments.items() if name in known or name in unknown}


def _blamed_arguments(fault: ValidationError) -> list[str]:
    """Name the arguments that `fault` is about."""
    if fault.absolute_path:
        return [str(fault.absolute_path[0])]
    given, schema = cast("Mapping[str, Any]", fault.instance), cast("Mapping[str, Any]", fault.schema)
    if fault.validator == "required":
        return [name for name in schema["required"] if name not in given]
    if fault.validator == "additionalProperties":
        return sorted(name for name in given if name not in schema.get("properties", {}))
    return []


def _complaint(fault: ValidationError) -> str:
    """Put `fault` into a sentence that names the argument."""
    names = ", ".join(map(quoted, _blamed_arguments(fault)))
    kind = _COMPLAINTS.get(str(fault.validator)) if not fault.absolute_path else None
    reason = escaped(fault.message)
    if len(reason) > limits.COMPLAINT_REASON_CHARACTERS:  # it begins with the value, which the caller knows
        reason = f"violates {fault.validator} {fault.validator_value!r}"
    sentence = f"{kind} {names}" if kind else f"Invalid argument {names}: {reason}"
    return truncated(sentence, limits.COMPLAINT_CHARACTERS)
