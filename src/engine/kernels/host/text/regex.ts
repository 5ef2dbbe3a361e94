/** Patterns and replacements of RE2, which TensorFlow's string ops use, by JavaScript's regular expressions. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import { decodeString, encodeString } from "../../../core/text.ts";

/** Converts a pattern of RE2. Throws `InvalidArgumentError` for an invalid one. */
export function regexOf(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch (cause) {
    throw new InvalidArgumentError(`Invalid pattern: ${pattern}`, { cause });
  }
}

/** Replaces a pattern's first match, or all of them; `\\1` stands for a group, `\\0` for the match. */
export function replaceRegex(
  text: Uint8Array,
  { pattern, rewrite, all }: {
    readonly pattern: string;
    readonly rewrite: string;
    readonly all: boolean;
  },
): Uint8Array {
  const regex = regexOf(pattern, all ? "g" : "");
  let end = -1;
  const replaced = decodeString(text).replace(regex, (...found) => {
    // After the match and its groups come the offset and the whole text.
    const count = found.findIndex((f) => typeof f === "number"), groups = found.slice(0, count);
    const place = found[count] as number, follows = place === end;
    end = place + found[0].length;
    // RE2 finds no empty match where a match ends.
    if (follows && found[0] === "") return "";
    return rewrite.replace(/\\(\d|\\)/g, (_, c) => c === "\\" ? "\\" : groups[Number(c)] ?? "");
  });
  return encodeString(replaced);
}
