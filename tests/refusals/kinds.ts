/** Values of wrong kinds, and the messages of engines about code that took one for something else. */

/** A text that is no name, and a path below a file, where nothing can be written. */
export const TEXT = "deno.json/x";

/** Values by kind, each made anew. */
export const KINDS: Readonly<Record<string, () => unknown>> = {
  nothing: () => undefined,
  null: () => null,
  "a number": () => 1,
  NaN: () => NaN,
  "a text": () => TEXT,
  "a boolean": () => true,
  "an object": () => ({}),
  "an empty list": () => [],
  "a list of texts": () => ["a"],
  "a function": () => () => {},
  "a symbol": () => Symbol("s"),
  "a date": () => new Date(0),
};

/** Second arguments, beside none. */
export const SECOND: readonly unknown[] = [undefined, 1, TEXT, null];

/** Messages of JavaScript engines about code that took a value for something else. */
const NATIVE =
  /Cannot (?:read|set) propert|Cannot convert undefined or null|Invalid (?:typed )?array length|\[object Object\]|is not a function|Cannot destructure|is not iterable|not a constructor|convert a Symbol value|Maximum call|Cannot mix BigInt|Cannot use 'in'|private (?:field|member)/;

/** A function, whatever its arguments. */
export type Untyped = (...args: unknown[]) => unknown;

/** Calls a function, and awaits it where it `settles`; gives the message of an engine about it, or null. */
export async function nativeError(
  fn: Untyped,
  args: readonly unknown[],
  { settles = false }: { readonly settles?: boolean } = {},
): Promise<string | null> {
  try {
    // What waits for a device or a camera says no more than that it waits.
    const result = fn(...args);
    if (result instanceof Promise) result.catch(() => {});
    await (settles ? result : Promise.race([result, Promise.resolve()]));
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (NATIVE.test(message)) return message;
  }
  return null;
}
