"""The tools of a request, and the schema that its answer must have, in the spellings of all APIs and of MCP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tokcli.cli.chat.conversation import ChatTool
from tokcli.cli.chat.left_out import BUILT_IN_TOOLS, IMAGES, MCP_SERVERS, LeftOut, has_text, snake_case, strings_in
from tokcli.cli.chat.read_content import as_text

SCHEMAS = {
    "parameters", "input_schema", "parameters_json_schema",
    "output_schema", "response", "response_json_schema", "schema",
}  # fmt: skip
TEXTS = {"title", "annotations", "format", "grammar", "server_label", "server_description"}  # strings anywhere in them
EXAMPLES = {"examples", "input_examples"}  # JSON values, each of which the model reads
# Members that say how a tool is called and no part of what the model reads.
FACTS = {
    "type", "strict", "cache_control", "defer_loading", "allowed_callers", "id", "execution", "eager_input_streaming",
    "_meta", "meta",
}  # fmt: skip
OWN_TYPES = ("function", "custom", "mcp_tool")  # of tools that the request defines; any other is the provider's own
INNER = ("function", "custom", "toolSpec")  # members of a tool that have all that defines it
DECLARATIONS = "function_declarations"
# Where a request says how the answer must be: the members that lead to an object with a schema.
FORMATS = (
    ("response_format", "json_schema"),
    ("response_format",),  # with a schema right in it
    ("text", "format"),
    ("output_config", "format"),
    ("output_format",),
)
CONFIG_SCHEMAS = {"response_schema", "response_json_schema"}  # in Gemini's generationConfig


def is_tool(value: object) -> bool:
    """Return whether a value in a list is the definition of a tool, not a message.

    >>> is_tool({"name": "f", "inputSchema": {}}), is_tool({"role": "user", "content": "hi"})
    (True, False)
    """
    if not isinstance(value, dict) or "role" in value or "content" in value:
        return False
    names = set(map(snake_case, value))
    return bool(names & {*SCHEMAS, DECLARATIONS}) or isinstance(value.get("function"), dict)


def read_tools(given: object, left_out: LeftOut) -> Iterator[ChatTool]:
    """Yield the tools in a list, or in one of Gemini's objects; what is no tool has no text, or is left out."""
    for tool in given if isinstance(given, list) else [given]:
        if not isinstance(tool, dict):
            left_out.add("unknown tools", 1 if has_text(tool) else 0)
            continue
        declared = [one for name, one in tool.items() if snake_case(name) == DECLARATIONS]
        if declared:
            yield from read_tools(declared[0], left_out)
            tool = {name: one for name, one in tool.items() if snake_case(name) != DECLARATIONS}
        yield from _read_tool(tool, left_out)


def _read_tool(tool: dict[str, Any], left_out: LeftOut) -> Iterator[ChatTool]:
    """Yield the tool that the request defines; of one that it only names, which the provider defines, the name."""
    inner = next((tool[name] for name in INNER if isinstance(tool.get(name), dict)), None)
    unknown = LeftOut()
    found = read_definition(tool if inner is None else inner, unknown)
    kind = tool.get("type")
    is_named = kind not in OWN_TYPES if isinstance(kind, str) else any(isinstance(one, dict) for one in tool.values())
    if inner is None and is_named and not (found.description or found.schemas):
        left_out.add(MCP_SERVERS if kind == "mcp" else BUILT_IN_TOOLS)
    else:
        left_out.add_all(unknown.kinds)
    if any(found) or inner is not None:
        yield found


def read_definition(members: Mapping[str, Any], left_out: LeftOut) -> ChatTool:
    """Return what defines a tool, or an answer: its name, description, schemas and other texts."""
    schemas: list[Mapping[str, Any]] = []
    texts: list[str] = []
    for given, value in members.items():
        name = snake_case(given)
        if name in SCHEMAS and isinstance(value, dict):
            schemas.append(value["json"] if value.keys() == {"json"} and isinstance(value["json"], dict) else value)
        elif name in EXAMPLES and isinstance(value, list):
            texts += [as_text(one).text for one in value]
        elif name in TEXTS:
            texts += strings_in(value, names=False)
        elif name == "icons":
            left_out.add(IMAGES, len(value) if isinstance(value, list) else 1)
        elif name not in FACTS and not (name in ("name", "description") and isinstance(value, str)) and has_text(value):
            left_out.add_unknown("members", given)
    name, description = (value if isinstance(value := members.get(one), str) else "" for one in ("name", "description"))
    return ChatTool(name, description, tuple(schemas), tuple(texts))


def read_formats(request: Mapping[str, Any], left_out: LeftOut) -> Iterator[ChatTool]:
    """Yield the schemas that a request, with its members in snake case, says the answer must have."""
    for path in FORMATS:
        found: object = request
        for name in path:
            found = found.get(name) if isinstance(found, dict) else None
        if isinstance(found, dict) and isinstance(found.get("schema"), dict):
            yield read_definition(found, left_out)
    if isinstance(request.get("format"), dict):  # Ollama's
        yield ChatTool("", "", (request["format"],))
    config = request.get("generation_config")
    for name, schema in config.items() if isinstance(config, dict) else ():
        if snake_case(name) in CONFIG_SCHEMAS and isinstance(schema, dict):
            yield ChatTool("", "", (schema,))
