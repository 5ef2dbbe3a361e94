/** Classes of characters that RE2 names, as the insides of JavaScript's classes. */
import type { Members } from "./regex_syntax.ts";

const WORD = "0-9A-Za-z_", SPACES = "\\t\\n\\f\\r ";

/** Members of POSIX classes, as `[[:alpha:]]`. */
const POSIX: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: WORD,
  xdigit: "0-9A-Fa-f",
};

const PERL: Readonly<Record<string, string>> = { d: "0-9", s: SPACES, w: WORD };

/** Categories of RE2: each letter alone, and with one of those behind it. */
const CATEGORY = /^(?:C[cfos]|L[lmotu]?|M[cen]?|N[dlo]?|P[cdefios]?|S[ckmo]?|Z[lps]?)$/;

/** The members of a POSIX class by its name, which may begin with `^`; null for an unknown one. */
export function posixClass(name: string): Members | null {
  const isNot = name.startsWith("^"), own = isNot ? name.slice(1) : name;
  return Object.hasOwn(POSIX, own) ? { source: POSIX[own], isNot } : null;
}

/** The members of `\d`, `\s`, `\w` and their opposites; null for another letter. */
export function perlClass(letter: string): Members | null {
  const own = letter.toLowerCase();
  return Object.hasOwn(PERL, own) ? { source: PERL[own], isNot: own !== letter } : null;
}

/** The members of a category or script of Unicode; null for an unknown name. */
export function unicodeClass(name: string, isNot: boolean): Members | null {
  if (/^Any$/.test(name)) return { source: "\\0-\\u{10FFFF}", isNot };
  // Code points without a character are in no category of RE2.
  if (name === "C") return { source: "\\p{Cc}\\p{Cf}\\p{Co}\\p{Cs}", isNot };
  if (CATEGORY.test(name)) return { source: `\\p{${name}}`, isNot };
  if (!/^[A-Z][A-Za-z_]{2,}$/.test(name)) return null;
  const source = `\\p{Script=${name}}`;
  try {
    new RegExp(source, "u");
  } catch {
    return null;
  }
  return { source, isNot };
}

/** Writes a code point inside of a class. */
export function memberOf(code: number): string {
  return /[0-9A-Za-z]/.test(String.fromCodePoint(code))
    ? String.fromCodePoint(code)
    : `\\u{${code.toString(16)}}`;
}
