/** Patterns and replacements of RE2, which TensorFlow's string ops use, by JavaScript's regular expressions. */
import { InvalidArgumentError } from "../../../core/errors.ts";
import { bytesOfText } from "../../../core/arrays/short_bytes.ts";
import { decodeString } from "../../../core/text.ts";
import { patternOfRE2 } from "./regex_syntax.ts";

/** Converts a pattern of RE2. Throws `InvalidArgumentError` for an invalid one. */
export function regexOf(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(patternOfRE2(pattern), `${flags}u`);
  } catch (error) {
    if (error instanceof InvalidArgumentError) throw error;
    // Braces and brackets that stand for themselves are refused under the flag `u`.
  }
  try {
    return new RegExp(pattern, flags);
  } catch (cause) {
    throw new InvalidArgumentError(`Invalid pattern: ${pattern}`, { cause });
  }
}

/** Returns the function that replaces a pattern's first match, or all of them; `\\1` stands for a group, `\\0` for the match. */
export function regexReplacer(
  { pattern, rewrite, all }: {
    readonly pattern: string;
    readonly rewrite: string;
    readonly all: boolean;
  },
): (bytes: Uint8Array) => Uint8Array {
  const regex = regexOf(pattern, all ? "g" : "");
  // The match and its groups, then the offset and the whole text are given. A pattern that may be empty tells their number.
  const count = regexOf(`${pattern}|`, "").exec("")!.length, isPlain = !rewrite.includes("\\");
  let end = -1;
  const replace = (...found: unknown[]): string => {
    const match = found[0] as string, place = found[count] as number, follows = place === end;
    end = place + match.length;
    // RE2 finds no empty match where a match ends.
    if (follows && match === "") return "";
    if (isPlain) return rewrite;
    return rewrite.replace(
      /\\(\d|\\)/g,
      (_, c) => c === "\\" ? "\\" : Number(c) < count ? found[Number(c)] as string ?? "" : "",
    );
  };
  return (bytes) => {
    end = -1;
    const text = decodeString(bytes), replaced = text.replace(regex, replace);
    return replaced === text ? bytes : bytesOfText(replaced);
  };
}
