"""Random requests of every API: a count is never less than the sum of the counts of the texts, and never a crash."""

from __future__ import annotations

import json

import pytest
from random_requests import RandomRequests
from support import rounds

from tokcli import get_encoding
from tokcli.chat_templates.conversation import variables_of
from tokcli.cli.chat.conversation import ChatRequest
from tokcli.cli.chat.openai_rules import BY_MODEL, Overhead, count_request
from tokcli.cli.chat.read_request import read_request
from tokcli.cli.chat.template_conversation import conversation_of, left_out_of
from tokcli.errors import InputError

RULES = [("o200k_base", Overhead()), ("cl100k_base", BY_MODEL["gpt-3.5-turbo-0301"])]


@pytest.mark.parametrize(("encoding", "overhead"), RULES)
def test_a_count_is_never_less_than_the_sum_of_the_counts_of_the_texts(encoding: str, overhead: Overhead) -> None:
    count = get_encoding(encoding).count
    requests = RandomRequests(42)
    for _ in range(rounds(5_000)):
        asked = requests.request()
        found = count_request(read_request(asked), overhead, count)
        assert found.total >= sum(map(count, requests.texts)), asked


def test_what_constants_take_away_and_joining_merges_is_made_up_for() -> None:
    """An empty enum takes 3 tokens away, and colons merge with those between the name, the type and the description."""
    count = get_encoding("o200k_base").count
    names = [":" * size for size in range(1, 60)]
    properties = {name: {"type": ":", "description": ".", "enum": []} for name in names}
    tool = {"name": "f", "parameters": {"type": "object", "properties": properties, "required": names}}
    texts = ["f", "object", *names, *names, *(":" for _ in names), *("." for _ in names)]
    found = count_request(read_request({"tools": [tool]}), Overhead(), count)
    assert found.shares[0].tokens >= sum(map(count, texts))


def test_requests_that_no_api_takes_are_counted_or_refused() -> None:
    requests = RandomRequests(43)
    refused = 0
    for _ in range(rounds(5_000)):
        try:
            read = read_request(requests.spoiled(requests.request()))
        except InputError:
            refused += 1
            continue
        assert isinstance(read, ChatRequest)
        assert count_request(read, Overhead(), len).total >= 0
        assert all(number > 0 for number in read.left_out.values())
    assert 0 < refused < rounds(5_000)


def test_requests_are_conversations_for_a_template_with_all_their_messages_or_refused() -> None:
    requests = RandomRequests(44)
    taken = 0
    for number in range(rounds(5_000)):
        asked = requests.request()
        try:
            read = read_request(requests.spoiled(asked) if number % 2 else asked)
            made = conversation_of(read, add_generation_prompt=True)
        except InputError:
            continue
        taken += 1
        assert all(isinstance(one, dict) for one in (*made.messages, *(made.tools or ())))
        json.dumps(variables_of(made, {})) if made.messages else None
        assert all(number > 0 for number in left_out_of(read).values())
    assert taken > rounds(5_000) // 20
