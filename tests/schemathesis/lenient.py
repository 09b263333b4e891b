"""Lenient spellings: a whole number or a number as text, a boolean as 0 or 1. The server takes them, the published
schema shows the strict types alone: a drawn body that is wrong by nothing else is not one to be refused. What stands
below a `oneOf` is not read: there the schema does not say which type was meant."""

import copy
import functools
import re

import jsonschema_rs
import schemathesis

JSON = "application/json"
WHOLE = re.compile(r"-?(0|[1-9][0-9]*)")
NUMBER = re.compile(WHOLE.pattern + r"(\.[0-9]+)?([eE][+-]?[0-9]+)?")
VALIDATORS = {}
BOOLEAN = {0: False, 1: True, "0": False, "1": True}

# A recording is bytes.
schemathesis.serializer.alias(["audio/wav", "audio/ogg", "audio/mpeg"], "application/octet-stream")


@schemathesis.hook
def filter_case(_context, case):
    """Draws no case that should be refused and whose body is only spelled leniently."""
    refused = case.meta is not None and case.meta.generation.mode.is_negative
    spelled = case.media_type == JSON and isinstance(case.body, (dict, list))
    return not (refused and spelled and is_lenient(case.body, schema(case.operation)))


def schema(operation):
    """A validator of an operation's body: its published schema, whose references are to the document's components."""
    key = operation.path, operation.method
    if key not in VALIDATORS:
        document = operation.schema.raw_schema
        body = document["paths"][operation.path][operation.method]["requestBody"]["content"][JSON]["schema"]
        VALIDATORS[key] = jsonschema_rs.validator_for({**body, "components": document["components"]})
    return VALIDATORS[key]


def is_lenient(body, validator):
    """Whether a body breaks its schema, and no longer does once its spellings are read.

    >>> boolean, whole = {"type": ["boolean", "null"]}, {"type": "array", "items": {"type": "integer", "minimum": 1}}
    >>> schema = {"properties": {"a": boolean, "b": whole, "c": {"type": "number"}, "d": {"type": "string"}}}
    >>> def lenient(**body): return is_lenient(body, jsonschema_rs.validator_for(schema))
    >>> lenient(a=0), lenient(a="1", b=[1, "2"]), lenient(c="1.5e3", d="x")
    (True, True, True)
    >>> is_lenient({"1": "x"}, jsonschema_rs.validator_for({"additionalProperties": {"type": "integer"}}))
    False
    >>> lenient(a=True, b=[1], c=1.5, d="x"), lenient(a=2), lenient(b=["0"]), lenient(c="01"), lenient(a=0, d=0)
    (False, False, False, False, False)
    """
    read, errors = copy.deepcopy(body), list(validator.iter_errors(body))
    known = all(error.instance_path and replaced(read, error) for error in errors)
    return bool(errors) and known and validator.is_valid(read)


def replaced(body, error):
    """Reads the spelling that an error of a body is about; whether it is one."""
    *way, last = error.instance_path
    try:
        parent = functools.reduce(lambda value, step: value[step], way, body)
        spelled, types = parent[last], getattr(error.kind, "types", ())
    except KeyError:
        # The validator calls the member "1" of an object 1.
        return False
    if "boolean" in types and not isinstance(spelled, (list, dict)) and spelled in BOOLEAN:
        parent[last] = BOOLEAN[spelled]
    elif "integer" in types and isinstance(spelled, str) and WHOLE.fullmatch(spelled):
        parent[last] = int(spelled)
    elif "number" in types and isinstance(spelled, str) and NUMBER.fullmatch(spelled):
        parent[last] = float(spelled)
    else:
        return False
    return True
