"""Writes text_goldens.json, with TensorFlow 2.21: patterns of RE2 with flags, classes and loops, parts and lengths of strings, vocabularies."""
import json
from pathlib import Path

import tensorflow as tf

TEXTS = [b"", b"aabAB", b"a\nb\r\nc\n", "kK\u212aéÉ 😀x".encode(), b"a\xffb\x80", b"\xed\xa0\x80\xe0\x80\x80a", b"\xef\xbb\xbfa_-0", b"aaaa bb"]
PATTERNS = [
    "a(?i)b", "((?i)a)b", "(?i)a(?-i)b", "(?U)a+", "(?U)a+?", "[[:^alpha:]]", "[^[:^alpha:]]", r"[\S]", r"[\S\n]", r"[^\S]", r"[\W\d]", r"[^\Wa]",
    r"[^\PL]", r"(?i)\P{Lu}", r"(?i)\W", r"(?i)[^k]", "(?m)^", "(?m)$", "(?m)^.", "(?s:.)b", "(?s:.)|.\n", "(?-s:.)", r"\C", r"\C\C", r"\B", r"\b",
    "(|a)*", "(|a)+", "(|a)+?", "(a|b)*", "(?:(a)|b)*", "(a*)+", "(a*?){2,}", "(?:a?){3}b", "(a|ab)(c|bcd|)", "a{,2}", "a{2}", "a{0}", r"\141", r"\_", r"\Qa+\E?",
    "(?P<n>a)", "(?<n>a)", "$^", "a$", "()", "x*", "[a-]", "[]a]", r"\x{e9}|\pN", r"\P{Greek}+", "[a&&b]", "[k-m]|(?i:k)", "(?i)(?:k|é)+",
    "(?=a)", "(?!a)", "(?<=a)", "(?<!a)", r"(a)\1", "(?>a)", "(?x)a", "(?P=n)", "a**", "a++", "*", "(?i)*", "a{1001}", "(a{100}){11}", "(", ")", "[", "[a", "[b-a]",
    "[[:foo:]]", r"[a-\d]", r"[\b]", r"\Z", r"\8", r"\é", r"\x", "\\", r"\p{Foo}", r"\p{Alphabetic}", "(?P<n>a)(?P<n>b)", "(?-)", "(?i",
]
REWRITES = [r"<\0>", r"[\1]", "x"]


def text(b):
    return b.decode("latin1")


def tried(f):
    try:
        return f()
    except (tf.errors.InvalidArgumentError, UnicodeDecodeError):  # the error's text holds the bytes
        return None


regexes = []
for pattern in PATTERNS:
    replaced = [tried(lambda: [text(x) for x in tf.strings.regex_replace(tf.constant(TEXTS), pattern, r, replace_global=i != 2).numpy()]) for i, r in enumerate(REWRITES)]
    full = tried(lambda: [int(x) for x in tf.strings.regex_full_match(tf.constant(TEXTS), pattern).numpy()])
    regexes.append([pattern, None if full is None else [full, *replaced]])
STRINGS = [b"hello", "héllo".encode(), b"a\xffb\x80c", b"\x80\x80a", b"\xe2\x82a"]
parts = [[text(s), pos, n, unit, tried(lambda: text(tf.strings.substr(s, pos, n, unit=unit).numpy()))]
         for s in STRINGS for pos in (-6, -2, 0, 1, 3) for n in (-3, -1, 0, 2, 9) for unit in ("BYTE", "UTF8_CHAR")]
lengths = [int(tf.strings.length(s, unit="UTF8_CHAR").numpy()) for s in TEXTS + STRINGS]
splits = [[s, tf.ragged.row_splits_to_segment_ids(s).numpy().tolist()] for s in ([1, 2], [0, 2], [2, 5], [3, 3], [1], [5, 5, 7, 7, 8])]
lookup = tf.lookup
none = lookup.StaticVocabularyTable(None, 7)
words = lookup.StaticVocabularyTable(lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64)), 7)
numbers = lookup.StaticVocabularyTable(lookup.KeyValueTensorInitializer(tf.constant([5, 6], tf.int64), tf.constant([0, 1], tf.int64)), 7)
KEYS = ["a", "b", "zz", "", "q"]
tables = [none.lookup(tf.constant(KEYS)).numpy().tolist(), words.lookup(tf.constant(KEYS)).numpy().tolist(),
          numbers.lookup(tf.constant([5, 6, -7, 0, 12], tf.int64)).numpy().tolist()]
out = dict(texts=[text(t) for t in TEXTS], rewrites=REWRITES, regexes=regexes, strings=[text(t) for t in STRINGS], parts=parts, lengths=lengths, splits=splits, tables=tables)
Path(__file__).with_name("text_goldens.json").write_text(json.dumps(out, separators=(",", ":")) + "\n")
