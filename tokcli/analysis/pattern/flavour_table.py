r"""The table of syntax that not all regular expression engines read alike: what each rejects, or reads differently.

It is about syntax, and says nothing about Unicode versions. Its facts are from the documentation of the engines in
FLAVOURS, tried on Python 3.11's `re`, `regex` 2026, `tiktoken` 0.14 (fancy-regex), `tokenizers` 0.23 (Oniguruma), RE2,
PCRE2 10.42 and Node 20; those of the Rust crate `regex` are from its documentation alone. For example, RE2 rejects a
possessive quantifier, and Oniguruma reads `{2}+` as `(?:{2})+`.
"""

from __future__ import annotations

from typing import Literal

Flavour = Literal["re", "regex", "rust", "fancy", "onig", "re2", "pcre2", "js"]
Difference = Literal["refuses", "differs"]

FLAVOURS: dict[Flavour, str] = {
    "fancy": "fancy-regex (tiktoken)",
    "regex": "regex (Python)",
    "onig": "Oniguruma (Hugging Face)",
    "pcre2": "PCRE2",
    "re": "re (Python 3.11)",
    "rust": "regex (Rust)",
    "re2": "RE2 and Go",
    "js": "JavaScript (flag u)",
}

_Entry = tuple[Difference, str]  # the second is why, or what it does instead; it may be empty

_ASCII: _Entry = "differs", "matches ASCII only"
_UCP: _Entry = "differs", "matches ASCII only, unless PCRE2_UCP is set"
_LETTERS: _Entry = "differs", "reads it as characters of the class"
_NO: _Entry = "refuses", ""
_RANGE: _Entry = "refuses", "it reads a range"
_NO_P: _Entry = "refuses", "it has no \\p"
_ONIG_WORDS: _Entry = "differs", "has all numbers such as \u00b2 in words, and not U+200C and U+200D"
_V1: _Entry = "differs", "reads it as characters, unless V1 is set"
_LAST_NEWLINE: _Entry = "differs", "also matches before a newline at the end"
_NOT_V: _Entry = "refuses", "without flag v"

# kind of syntax -> its name for people, and the engines that do not read it alike
FEATURES: dict[str, tuple[str, dict[Flavour, _Entry]]] = {
    "possessive": ("possessive quantifier", {
        "rust": ("differs", "repeats the quantified item, so that `?+` matches any number"), "re2": _NO, "js": _NO}),
    "possessive count": ("possessive count", {
        "onig": ("differs", "repeats it without limit, as if it were `(?:...)+`"),
        "rust": ("differs", "repeats it without limit, as if it were `(?:...)+`"), "re2": _NO, "js": _NO}),
    "atomic": ("atomic group", {"rust": _NO, "re2": _NO, "js": _NO}),
    "look-ahead": ("look-ahead", {"rust": _NO, "re2": _NO}),
    "look-behind": ("look-behind", {"rust": _NO, "re2": _NO}),
    "wide look-behind": ("look-behind of any width", {"rust": _NO, "re2": _NO, "re": _NO, "pcre2": _NO}),
    "uneven look-behind": ("look-behind of two widths", {"rust": _NO, "re2": _NO, "re": _NO}),
    "repeated assertion": ("repeat of an assertion", {"re": _NO, "onig": _NO, "pcre2": _NO, "js": _NO}),
    "repeated look-around": ("repeat of a look-around", {
        "fancy": _NO, "onig": _NO, "js": ("refuses", "outside a group")}),
    "repeated branch": ("repeat of a branch that takes no text", {"onig": _NO}),
    "lazy exact count": ("lazy count without a range", {
        "onig": ("differs", "takes all or nothing, as if it were `(?:...)?`")}),
    "end behind": ("look-ahead or end of the text in a look-behind", {"onig": _NO}),
    "full folding": ("letters without regard to case", {"onig": ("differs", "lets U+00DF be `ss`, and so on")}),
    "needless escape": ("escape that is not needed", {"js": _NO}),
    "lone bracket": ("bracket without a partner", {"js": _NO}),
    "reference": ("reference to a group", {"rust": _NO, "re2": _NO}),
    "condition": ("condition, recursion or branch reset", {
        "rust": _NO, "re2": _NO, "js": _NO, "onig": ("refuses", "or has another syntax for it"),
        "fancy": ("refuses", "some of these")}),
    "comment": ("comment", {"rust": _NO, "re2": _NO, "js": _NO}),
    "flags": ("flags for the whole pattern", {"js": ("refuses", "its flags are outside the pattern")}),
    "flags inside": ("flags from here on", {
        "js": _NO, "re": _NO, "onig": ("differs", "also puts all alternatives after them into one group")}),
    "group flags": ("flags of a group", {"js": ("refuses", "before ES2025")}),
    "flag s": ("flag s", {"onig": ("refuses", "its flag for that is m")}),
    "flag m": ("flag m", {"onig": ("differs", "makes `.` match newlines by it")}),
    "flag x": ("flag x", {"re2": _NO}),
    "flag u": ("flag u", {"onig": _NO, "re2": _NO, "pcre2": _NO}),
    "(?P<": ("name as (?P<...>", {"onig": _NO, "js": _NO}),
    "(?<": ("name as (?<...>", {"re": _NO}),
    "category": ("general category", {"re": _NO_P}),
    "long property": ("property by a long name", {
        "re": _NO_P, "re2": ("refuses", "it knows categories by their short names, and scripts")}),
    "script": ("script", {"re": _NO_P, "js": ("refuses", "it needs Script=")}),
    "name=value": ("property with =", {
        "re": _NO_P, "onig": _NO, "re2": _NO}),
    "short property": ("property without braces", {
        "re": _NO_P, "js": _NO, "onig": ("differs", "reads it as letters")}),
    "negated property": ("property with ^", {"re": _NO_P, "js": _NO}),
    "$": ("end of the text", {
        "re": _LAST_NEWLINE, "regex": _LAST_NEWLINE,
        "pcre2": _LAST_NEWLINE, "onig": ("differs", "matches at the end of every line")}),
    "^": ("start of the text", {"onig": ("differs", "matches at the start of every line")}),
    ".": ("any character but a newline", {"js": ("differs", "does not match \\r, U+2028 and U+2029 either")}),
    r"\s": ("white space", {
        "re": ("differs", "also matches U+001C to U+001F"), "re2": _ASCII, "pcre2": _UCP,
        "js": ("differs", "matches U+FEFF, and not U+0085")}),
    r"\d": ("digit", {"re2": _ASCII, "pcre2": _UCP, "js": _ASCII}),
    r"\w": ("word character", {
        "re": ("differs", "matches no marks"), "onig": _ONIG_WORDS, "re2": _ASCII, "pcre2": _UCP, "js": _ASCII}),
    r"\b": ("word boundary", {
        "re": ("differs", "takes marks for no part of words"), "onig": _ONIG_WORDS,
        "re2": _ASCII, "pcre2": _UCP, "js": _ASCII}),
    r"\h": ("horizontal space", {
        "re": _NO, "rust": _NO, "re2": _NO, "js": _NO, "onig": ("differs", "reads it as a hexadecimal digit"),
        "fancy": ("differs", "reads it as a hexadecimal digit")}),
    r"\R": ("line break", {"re": _NO, "rust": _NO, "re2": _NO, "js": _NO}),
    r"\X": ("grapheme cluster", {"re": _NO, "rust": _NO, "re2": _NO, "js": _NO, "fancy": _NO}),
    r"\K": ("start of the match moved here", {"re": _NO, "rust": _NO, "re2": _NO, "js": _NO}),
    r"\G": ("where the last match ended", {"re": _NO, "rust": _NO, "re2": _NO, "js": _NO}),
    r"\A": ("start of the text", {"js": _NO}),
    r"\z": ("end of the text", {"re": ("refuses", "before 3.14"), "js": _NO}),
    r"\Z": ("end of the text", {
        "rust": _NO, "re2": _NO, "js": _NO, "fancy": _LAST_NEWLINE,
        "onig": _LAST_NEWLINE,
        "pcre2": _LAST_NEWLINE}),
    r"\x{": ("code point", {"re": _NO, "regex": _NO, "js": _NO}),
    r"\u{": ("code point", {"re": _NO, "regex": _NO, "onig": _NO, "re2": _NO, "pcre2": _NO}),
    r"\u": ("code point", {"re2": _NO, "pcre2": _NO}),
    r"\U": ("code point", {"re2": _NO, "pcre2": _NO, "js": _NO, "onig": ("differs", "reads it as letters")}),
    "{,n}": ("count without a minimum", {
        "js": _NO, "re2": ("differs", "reads it as text"), "pcre2": ("differs", "reads it as text, before 10.43")}),
    "posix class": ("POSIX class", {
        "re": _LETTERS, "js": _NO, "re2": _ASCII, "rust": _ASCII, "fancy": _ASCII, "pcre2": _UCP}),
    "class in a class": ("class in a class", {
        "re": _LETTERS, "regex": _V1, "re2": _LETTERS,
        "pcre2": _LETTERS, "js": _NOT_V}),
    "&&": ("intersection", {
        "re": _LETTERS, "regex": _V1, "re2": _LETTERS,
        "pcre2": _LETTERS, "js": ("differs", "reads it as characters, without flag v")}),
    "--": ("difference", {
        "re": _RANGE, "regex": ("refuses", "unless V1 is set"), "re2": _RANGE, "pcre2": _RANGE, "onig": _RANGE,
        "js": _NOT_V}),
    "~~": ("symmetric difference", {
        "re": _LETTERS, "regex": _V1, "re2": _LETTERS,
        "pcre2": _LETTERS, "onig": _LETTERS, "js": _LETTERS}),
}  # fmt: skip
