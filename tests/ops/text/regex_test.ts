/** Patterns of RE2 in `tf.strings`, beside what TensorFlow 2.21 returns. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";

const TEXTS = ["aB", "😀x", "a\rb", "a\u00a0b c", "{[a]}", "λ_-", ""];

/** Texts as TensorFlow returns them, each match between angle brackets. */
const FOUND: Readonly<Record<string, string>> = {
  ".": "<a><B>|<😀><x>|<a><\r><b>|<a><\u00a0><b>< ><c>|<{><[><a><]><}>|<λ><_><->|",
  "(?i)ab": "<aB>|😀x|a\rb|a\u00a0b c|{[a]}|λ_-|",
  "((?i)x|B)": "a<B>|😀<x>|a\r<b>|a\u00a0<b> c|{[a]}|λ_-|",
  "(?i:A)B": "<aB>|😀x|a\rb|a\u00a0b c|{[a]}|λ_-|",
  "\\pL+": "<aB>|😀<x>|<a>\r<b>|<a>\u00a0<b> <c>|{[<a>]}|<λ>_-|",
  "\\p{Greek}": "aB|😀x|a\rb|a\u00a0b c|{[a]}|<λ>_-|",
  "\\P{^Greek}": "aB|😀x|a\rb|a\u00a0b c|{[a]}|<λ>_-|",
  "\\s": "aB|😀x|a<\r>b|a\u00a0b< >c|{[a]}|λ_-|",
  "\\S+": "<aB>|<😀x>|<a>\r<b>|<a\u00a0b> <c>|<{[a]}>|<λ_->|",
  "[[:alpha:]]+": "<aB>|😀<x>|<a>\r<b>|<a>\u00a0<b> <c>|{[<a>]}|λ_-|",
  "\\x{1F600}": "aB|<😀>x|a\rb|a\u00a0b c|{[a]}|λ_-|",
  "[😀]": "aB|<😀>x|a\rb|a\u00a0b c|{[a]}|λ_-|",
  "[\\-_]": "aB|😀x|a\rb|a\u00a0b c|{[a]}|λ<_><->|",
  "\\-": "aB|😀x|a\rb|a\u00a0b c|{[a]}|λ_<->|",
  "(?P<n>B)\\z": "a<B>|😀x|a\rb|a\u00a0b c|{[a]}|λ_-|",
  "[]x]": "aB|😀<x>|a\rb|a\u00a0b c|{[a<]>}|λ_-|",
  "[[]": "aB|😀x|a\rb|a\u00a0b c|{<[>a]}|λ_-|",
  "{": "aB|😀x|a\rb|a\u00a0b c|<{>[a]}|λ_-|",
  "\\Q[a]\\E": "aB|😀x|a\rb|a\u00a0b c|{<[a]>}|λ_-|",
  "(?s).": "<a><B>|<😀><x>|<a><\r><b>|<a><\u00a0><b>< ><c>|<{><[><a><]><}>|<λ><_><->|",
};

Deno.test("patterns of RE2 find what they find in TensorFlow", () => {
  for (const [pattern, wanted] of Object.entries(FOUND)) {
    const found = tf.strings.regexReplace(TEXTS, pattern, "<\\0>").arraySync() as string[];
    assertEquals(found.join("|"), wanted, pattern);
  }
});

Deno.test("a pattern matches a code point as one, and lines by (?s) alone", () => {
  const matches = (text: string, pattern: string): unknown =>
    tf.strings.regexFullMatch([text], pattern).arraySync();
  assertEquals(matches("😀", "."), [true]);
  assertEquals(matches("a\nb", ".*"), [false]);
  assertEquals(matches("a\nb", "(?s).*"), [true]);
  assertEquals(matches("aB", "(?i)x|AB"), [true]);
});
