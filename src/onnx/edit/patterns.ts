/** Patterns of names: texts with `*` and `?`, or regular expressions. */
import { describe } from "../../engine/core/convert.ts";
import { ValueError } from "../../engine/core/errors.ts";

/**
 * A pattern of names, or a list of which one must fit: a text, in which `*` stands for any characters and `?` for one,
 * or a regular expression, which may match a part of the name.
 */
export type NamePattern = string | RegExp | readonly (string | RegExp)[];

/** Returns a test of names. Throws `ValueError` for another value than a pattern. */
export function nameTest(pattern: NamePattern, what: string): (name: string) => boolean {
  const list = (Array.isArray(pattern) ? pattern : [pattern]) as readonly (string | RegExp)[];
  const tests = list.map((one) => {
    if (typeof one === "string") {
      const text = one.replaceAll(/[.+^${}()|[\]\\/-]/g, "\\$&");
      return new RegExp(`^${text.replaceAll("*", ".*").replaceAll("?", ".")}$`, "s");
    }
    if (one instanceof RegExp) return new RegExp(one.source, one.flags.replace(/[gy]/g, ""));
    throw new ValueError(
      `Cannot ${what}: wanted a text or a regular expression of names, received ${describe(one)}`,
    );
  });
  return (name) => tests.some((test) => test.test(name));
}
