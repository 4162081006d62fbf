"""Random requests to chat models, as their APIs take them, with the texts that are in them."""

from __future__ import annotations

import random
from typing import Any

from support import HARD_ATOMS

ENDINGS = ("", "", "", ".", "..", "::", " ", "\n", '"', "',")  # what counting joins or takes away is nearby
TYPES = ("string", "object", "array", "integer", "STRING")


class RandomRequests:
    """Makes requests; `texts` are those of the last one, each as often as it is in it."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.texts: list[str] = []

    def request(self) -> Any:
        """Return a request of any API."""
        self.texts = []
        make = self._random.choice(
            [self._completions, self._responses, self._messages, self._gemini, self._tool_list, self._bare_list]
        )
        return make()

    # --- texts, values, schemas --------------------------------------------------------------------------------------

    def _text(self) -> str:
        atoms = self._random.choices(HARD_ATOMS, k=self._random.randrange(5))
        text = "".join(atoms) + self._random.choice(ENDINGS)
        self.texts.append(text)
        return text

    def _chance(self, share: float = 0.5) -> bool:
        return self._random.random() < share

    def _some(self, *makers: Any, most: int = 3) -> list[Any]:
        return [self._random.choice(makers)() for _ in range(self._random.randrange(most + 1))]

    def _value(self, depth: int = 2) -> Any:
        if depth and self._chance(0.4):
            if self._chance():
                return {self._key(): self._value(depth - 1) for _ in range(self._random.randrange(3))}
            return [self._value(depth - 1) for _ in range(self._random.randrange(3))]
        return self._text() if self._chance() else self._random.choice([None, True, 1, 2.5, -7])

    def _key(self) -> str:
        return self._fresh(self._text())

    def _fresh(self, name: str) -> str:
        """Make a name one that no other member has, or a later one would take its place; it stays one of the texts."""
        self.texts[-1] = name = f"{name}{len(self.texts)}"
        return name

    def _object(self) -> dict[str, Any]:
        return {self._key(): self._value() for _ in range(self._random.randrange(3))}

    def _schema(self, depth: int = 3) -> dict[str, Any]:
        made: dict[str, Any] = {}
        if self._chance(0.8):
            made["type"] = self._random.choice(TYPES)
            self.texts.append(made["type"])
        for name in ("description", "title", "pattern", "format", "$ref"):
            if self._chance(0.3):
                made[name] = self._text()
        if self._chance(0.3):
            made["enum"] = self._some(self._text, lambda: self._random.choice([1, None, False]), most=4)
        if self._chance(0.2):
            made["default"] = self._value()
        if not depth:
            return made
        for name in ("properties", "$defs"):
            if self._chance():
                made[name] = {self._key(): self._schema(depth - 1) for _ in range(self._random.randrange(3))}
        if self._chance(0.3):
            made["items"] = self._schema(depth - 1)
        if self._chance(0.2):
            made["anyOf"] = self._some(lambda: self._schema(depth - 1))
        return made

    # --- OpenAI ------------------------------------------------------------------------------------------------------

    def _function(self) -> dict[str, Any]:
        return {"name": self._text(), "description": self._text(), "parameters": self._schema()}

    def _completions(self) -> Any:
        made: dict[str, Any] = {"model": "x", "messages": self._some(self._message, self._calling, self._result)}
        if self._chance():
            made["tools"] = self._some(lambda: {"type": "function", "function": self._function()})
        if self._chance(0.3):
            schema = {"name": self._text(), "schema": self._schema(), "strict": True}
            made["response_format"] = {"type": "json_schema", "json_schema": schema}
        return made

    def _message(self) -> dict[str, Any]:
        part = lambda: {"type": "text", "text": self._text()}  # noqa: E731
        image = lambda: {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}  # noqa: E731
        content = self._text() if self._chance() else self._some(part, image)
        return {"role": "user", "content": content, **({"name": self._text()} if self._chance(0.4) else {})}

    def _calling(self) -> dict[str, Any]:
        call = lambda: {"id": "c", "type": "function", "function": {"name": self._text(), "arguments": self._text()}}  # noqa: E731
        return {"role": "assistant", "content": None, "tool_calls": self._some(call)}

    def _result(self) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": "c", "content": self._text()}

    def _responses(self) -> Any:
        call = lambda: {"type": "function_call", "call_id": "c", "name": self._text(), "arguments": self._text()}  # noqa: E731
        output = lambda: {"type": "function_call_output", "call_id": "c", "output": self._text()}  # noqa: E731
        thought = lambda: {  # noqa: E731
            "type": "reasoning", "encrypted_content": "AAAA", "summary": [{"type": "summary_text", "text": self._text()}],
        }  # fmt: skip
        said = lambda: {"role": "user", "content": [{"type": "input_text", "text": self._text()}]}  # noqa: E731
        made: dict[str, Any] = {"input": self._text() if self._chance(0.2) else self._some(call, output, thought, said)}
        if self._chance():
            made["instructions"] = self._text()
        if self._chance():
            made["tools"] = self._some(lambda: {"type": "function", **self._function()})
        if self._chance(0.3):
            made["text"] = {"format": {"type": "json_schema", "name": self._text(), "schema": self._schema()}}
        return made

    # --- Anthropic, Gemini, MCP --------------------------------------------------------------------------------------

    def _messages(self) -> Any:
        text = lambda: {"type": "text", "text": self._text()}  # noqa: E731
        source = lambda: {"type": "text", "media_type": "text/plain", "data": self._text()}  # noqa: E731
        blocks = (
            text,
            lambda: {"type": "thinking", "thinking": self._text(), "signature": "AAAA"},
            lambda: {"type": "tool_use", "id": "c", "name": self._text(), "input": self._object()},
            lambda: {"type": "tool_result", "tool_use_id": "c", "content": self._text()},
            lambda: {"type": "tool_result", "tool_use_id": "c", "content": self._some(text)},
            lambda: {"type": "document", "source": source(), "title": self._text()},
            lambda: {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        )
        made: dict[str, Any] = {"messages": self._some(lambda: {"role": "user", "content": self._some(*blocks)})}
        if self._chance():
            made["system"] = self._text() if self._chance() else self._some(text)
        if self._chance():
            tool = lambda: {"name": self._text(), "description": self._text(), "input_schema": self._schema()}  # noqa: E731
            made["tools"] = self._some(tool)
        return made

    def _gemini(self) -> Any:
        text = lambda: {"text": self._text()}  # noqa: E731
        names = ("functionCall", "functionResponse", "functionDeclarations", "systemInstruction")
        if self._chance():
            names = ("function_call", "function_response", "function_declarations", "system_instruction")
        parts = (
            text,
            lambda: {names[0]: {"name": self._text(), "args": self._object()}},
            lambda: {names[1]: {"name": self._text(), "response": self._object()}},
            lambda: {"inlineData": {"mimeType": "image/png", "data": "AAAA"}},
        )
        made: dict[str, Any] = {"contents": self._some(lambda: {"role": "user", "parts": self._some(*parts)})}
        if self._chance():
            made["tools"] = [{names[2]: self._some(self._function)}]
        if self._chance():
            made[names[3]] = {"parts": self._some(text)}
        return made

    def _tool_list(self) -> Any:
        tool = lambda: {"name": self._text(), "description": self._text(), "inputSchema": self._schema()}  # noqa: E731
        listed = {"tools": self._some(tool)}
        return listed if self._chance() else {"jsonrpc": "2.0", "id": 1, "result": listed}

    def _bare_list(self) -> Any:
        return self._some(self._message, self._calling)

    # --- what no API takes -------------------------------------------------------------------------------------------

    def spoiled(self, value: Any, depth: int = 0) -> Any:
        """Return a value with parts of it replaced by what nobody expects there, or under other names."""
        if self._random.random() < 0.03 * (depth > 0):
            return self._random.choice(
                [None, 1, True, "", "x", [], {}, [[]], [None], {"": ""}, {"type": 1}, [{"text": 5}]]
            )
        if isinstance(value, dict):
            return {
                self._random.choice(["name", "type", "content", "source", "tools"]) if self._chance(0.02) else name: (
                    self.spoiled(one, depth + 1)
                )
                for name, one in value.items()
            }
        return [self.spoiled(one, depth + 1) for one in value] if isinstance(value, list) else value
