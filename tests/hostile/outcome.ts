/** Outcomes of hostile input: a value, or an error of Weft's. An error of the engine means a missing check. */
import { AssertionError } from "@std/assert";

/** Beginnings of engines' own messages. */
const ENGINES = new RegExp(
  [
    "Cannot (read|set) propert",
    "Cannot mix BigInt",
    "Cannot convert (undefined or null|a BigInt|a Symbol|object to primitive)",
    "Cannot destructure",
    "Cannot create",
    "Cannot use 'in' operator",
    "Cannot assign to read only",
    "Cannot access",
    "Cannot redefine",
    "Maximum call stack",
    "Invalid (array|typed array|string|array buffer|code point|count|regular|time|DataView)",
    "Array buffer allocation",
    "(Start )?[Oo]ffset ",
    "Method .* called on incompatible",
    "Reduce of empty array",
    "Unexpected (token|end|number|string|identifier)",
    "Expected .* in JSON",
    "Bad control character",
    "The number .* cannot be converted",
    "toString\\(\\) radix",
    "Object prototype may only",
    "byte length of",
    "Failed to (construct|execute|convert|parse|decode|read|set)",
    ".* is not (a function|iterable|defined|a constructor|an object|extensible)( \\(|$)",
    ".* (argument|value) must be",
  ].map((text) => `^${text}`).join("|"),
);

/** True for an error that some code of ours threw on purpose. */
export function isOurs(error: unknown): error is Error {
  if (!(error instanceof Error) || error instanceof DOMException) return false;
  if (error instanceof SyntaxError || error instanceof ReferenceError) return false;
  // Those of a kernel come inside of another.
  const own = error.message.split("\n")[0];
  const plain = error.constructor === Error || error.constructor === RangeError;
  return !plain && !ENGINES.test(own);
}

/** Returns the result of `act`; null for an error of Weft's. Throws `AssertionError` for any other error. */
export async function outcome<T>(act: () => T | Promise<T>, what: () => string): Promise<T | null> {
  try {
    return await act();
  } catch (error) {
    if (isOurs(error)) return null;
    const stack = (error as Error)?.stack ?? "";
    throw new AssertionError(`${what()}\ngave an error that is not ours: ${error}\n${stack}`);
  }
}
