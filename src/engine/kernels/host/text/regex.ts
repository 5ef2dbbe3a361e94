/** Patterns and replacements of RE2, which TensorFlow's string ops use. */
import { bytesOfText } from "../../../core/arrays/short_bytes.ts";
import { concatBytes, decodeString, encodeString } from "../../../core/text.ts";
import { parseRE2 } from "./regex_parse.ts";
import { type Search, searchOf } from "./regex_program.ts";
import { scriptOf } from "./regex_script.ts";
import type { Pattern } from "./regex_syntax.ts";
import { charactersBytes } from "./utf8.ts";

/** Makes the search of a pattern when it is first needed. */
function searchLater(pattern: Pattern): Search {
  let search: Search | undefined;
  return (bytes, from, isWhole) => (search ??= searchOf(pattern))(bytes, from, isWhole);
}

/** Returns bytes as text; null where that would not say all of them, as a mark of the byte order, or what is no UTF-8. */
function textOf(bytes: Uint8Array): string | null {
  if (bytes[0] === 0xef) return null;
  const text = decodeString(bytes);
  return text.includes("\ufffd") ? null : text;
}

/** Returns the function that is true for texts that a pattern matches whole. Throws `InvalidArgumentError` for an invalid one. */
export function regexMatcher(pattern: string): (bytes: Uint8Array) => boolean {
  const parsed = parseRE2(pattern), search = searchLater(parsed);
  const script = scriptOf({
    part: {
      kind: "all",
      parts: [{ kind: "place", place: "textBegin" }, parsed.part, {
        kind: "place",
        place: "textEnd",
      }],
    },
    groups: parsed.groups,
  }, "");
  return (bytes) => {
    if (script !== null) {
      const text = textOf(bytes);
      if (text !== null) return script.test(text);
    }
    return search(bytes, 0, true) !== null;
  };
}

type Piece = number | Uint8Array;

/** The parts of a rewrite: bytes, and the numbers of groups. What follows a wrong escape is left out. */
function piecesOf(
  rewrite: string,
): { readonly pieces: readonly Piece[]; readonly isWhole: boolean } {
  const pieces: Piece[] = [];
  for (let at = 0; at < rewrite.length;) {
    const found = /^(?:[^\\]+|\\[\d\\])/.exec(rewrite.slice(at))?.[0];
    if (found === undefined) return { pieces, isWhole: false };
    const isGroup = found[0] === "\\" && found[1] !== "\\";
    pieces.push(isGroup ? Number(found[1]) : encodeString(found[0] === "\\" ? "\\" : found));
    at += found.length;
  }
  return { pieces, isWhole: true };
}

/** Returns the function that replaces a pattern's first match, or all of them; `\\1` stands for a group, `\\0` for the match. */
export function regexReplacer(
  { pattern, rewrite, all }: {
    readonly pattern: string;
    readonly rewrite: string;
    readonly all: boolean;
  },
): (bytes: Uint8Array) => Uint8Array {
  const parsed = parseRE2(pattern), { pieces, isWhole } = piecesOf(rewrite);
  const search = searchLater(parsed);
  const highest = Math.max(0, ...[...rewrite.matchAll(/\\(\d|[^])/g)].map(([, c]) => +c || 0));
  // RE2 replaces nothing where a group is missing.
  if (highest > parsed.groups || !all && !isWhole) return (bytes) => bytes;

  const slow = (bytes: Uint8Array): Uint8Array => {
    const out: Uint8Array[] = [];
    let at = 0, lastEnd = -1, count = 0;
    while (at <= bytes.length) {
      const found = search(bytes, at);
      if (found === null) break;
      const [begin, end] = found;
      out.push(bytes.subarray(at, begin));
      at = begin;
      // RE2 finds no empty match where a match ends.
      if (begin === end && begin === lastEnd) {
        const next = at + (charactersBytes(bytes, at) || 1);
        out.push(bytes.subarray(at, next));
        at = next;
        continue;
      }
      for (const piece of pieces) {
        out.push(
          typeof piece === "number"
            ? bytes.subarray(Math.max(0, found[2 * piece]), Math.max(0, found[2 * piece + 1]))
            : piece,
        );
      }
      at = lastEnd = end;
      count++;
      if (!all) break;
    }
    if (count === 0) return bytes;
    out.push(bytes.subarray(at));
    return concatBytes(out);
  };

  const script = isWhole ? scriptOf(parsed, all ? "g" : "") : null;
  if (script === null) return slow;
  // The match and its groups, then the offset and the whole text are given.
  const place = parsed.groups + 1, isPlain = !rewrite.includes("\\");
  let last = -1;
  const replace = (...found: unknown[]): string => {
    const match = found[0] as string, begin = found[place] as number, follows = begin === last;
    last = begin + match.length;
    if (follows && match === "") return "";
    if (isPlain) return rewrite;
    return rewrite.replace(
      /\\(\d|\\)/g,
      (_, c) => c === "\\" ? "\\" : found[Number(c)] as string ?? "",
    );
  };
  return (bytes) => {
    last = -1;
    const text = textOf(bytes);
    if (text === null) return slow(bytes);
    const replaced = text.replace(script, replace);
    return replaced === text ? bytes : bytesOfText(replaced);
  };
}
