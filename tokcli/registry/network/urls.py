"""Reads urls in one strict way, so that no two libraries can see different servers in one, and shows them in messages.

User names, backslashes, white space and control characters, about which parsers disagree, are refused in any url.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

_PORTS = {"https": 443, "http": 80}
_MAX_PORT = 65535
_SHOWN = 80  # characters of a url in a message
_AUTHORITY = re.compile(r"([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?", re.ASCII)


class ServerOrigin(NamedTuple):
    """The server that a url belongs to, and how it is reached. A token for one origin must not be sent to another."""

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Return whether this is the machine itself, where nobody can eavesdrop."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False


def origin(url: str) -> ServerOrigin:
    """Return the origin of a url; raise ValueError, which says why, for one that is not HTTP[S]://HOST[:PORT][/PATH].

    >>> origin("https://host/a"), origin("http://127.0.0.1:8080/a").is_loopback
    (ServerOrigin(scheme='https', host='host', port=443), True)
    """
    check_characters(url)
    scheme, colon, rest = url.partition("://")
    scheme, authority = scheme.lower(), re.split("[/?#]", rest, maxsplit=1)[0]
    if not colon or scheme not in _PORTS:
        raise ValueError("only https urls are downloaded")
    if "@" in authority:
        raise ValueError("a url with a user name or a password")
    found = _AUTHORITY.fullmatch(authority.lower())
    port = int(found[2] or _PORTS[scheme]) if found else 0
    if found is None or not 0 < port <= _MAX_PORT:
        raise ValueError("a url without a valid host and port")
    return ServerOrigin(scheme, found[1], port)


def check_characters(url: str) -> None:
    """Raise ValueError for characters that are in no url: white space, backslashes, those that cannot be printed."""
    if not url.isprintable() or " " in url or "\\" in url:
        raise ValueError("a url with white space, a backslash or a control character")


def shown_url(url: str) -> str:
    """Return any text as messages show a url: without user name, password and query, in at most 80 characters.

    >>> shown_url("https://me:secret@host/a?key=1")
    'https://host/a'
    """
    scheme, colon, rest = re.split("[?#]", url, maxsplit=1)[0].partition("://")
    authority, slash, path = rest.partition("/")
    if "@" in path and not _AUTHORITY.fullmatch(authority.lower()):
        authority, slash, path = path.rpartition("@")[2], "", ""  # the password had a slash
    shown = f"{scheme}{colon}{authority.rpartition('@')[2]}{slash}{path}"
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."
