/**
 * Checks of users' arguments, one for each kind. All throw `TypeError` that names the argument and the function. Tensors,
 * shapes and axes are checked where they become inputs, in `ops/input.ts`.
 */
import { isPlainObject } from "./nest.ts";
import { describe } from "./text.ts";
import { TypeError } from "./throwing/builtin_errors.ts";

/** Makes the error of an argument of another kind than `wanted`. */
export function wrongArgument(value: unknown, arg: string, fn: string, wanted: string): TypeError {
  return new TypeError(
    `Argument '${arg}' passed to '${fn}' must be ${wanted}, but got ${describe(value)}`,
  );
}

/** Throws for a value that is not a list; `of` names its elements. */
export function wantList(value: unknown, arg: string, fn: string, of = ""): void {
  if (!Array.isArray(value)) throw wrongArgument(value, arg, fn, `a list${of && ` of ${of}`}`);
}

/** Throws for a value that cannot be called. */
export function wantFunction(value: unknown, arg: string, fn: string): void {
  if (typeof value !== "function") throw wrongArgument(value, arg, fn, "a function");
}

/** Throws for a value that is not a number. */
export function wantNumber(value: unknown, arg: string, fn: string): void {
  if (typeof value !== "number") throw wrongArgument(value, arg, fn, "a number");
}

/** Throws for a value that is neither true nor false, such as an options object in the position of a flag. */
export function wantBoolean(value: unknown, arg: string, fn: string): void {
  if (typeof value !== "boolean") throw wrongArgument(value, arg, fn, "a boolean");
}

/** Throws for a value that is not a string. */
export function wantString(value: unknown, arg: string, fn: string): void {
  if (typeof value !== "string") throw wrongArgument(value, arg, fn, "a string");
}

/** Throws for null and primitive values, which have no fields; `wanted` describes the expected value. */
export function wantObject(value: unknown, arg: string, fn: string, wanted = "an object"): void {
  if (typeof value !== "object" || value === null) throw wrongArgument(value, arg, fn, wanted);
}

/** Throws for a value that is no signal, as the controller in its place. */
export function wantSignal(value: unknown, arg: string, fn: string): void {
  if (value === undefined || value === null) return;
  const { aborted, addEventListener } = value as Partial<AbortSignal>;
  if (typeof aborted === "boolean" && typeof addEventListener === "function") return;
  throw wrongArgument(value, arg, fn, "an AbortSignal");
}

/** Throws for a value without a field, where the library itself makes the right values. */
export function wantMade(value: unknown, field: string, { arg, fn, wanted }: Wanted): void {
  if (typeof value !== "object" || value === null || !(field in value)) {
    throw wrongArgument(value, arg, fn, wanted);
  }
}

/** An argument, its function and the kind that it must have. */
interface Wanted {
  readonly arg: string;
  readonly fn: string;
  readonly wanted: string;
}

/** All keys of an options type, which the compiler enforces. */
export type OptionKeys<T> = { readonly [K in keyof T]-?: true };

/**
 * Makes a check of options objects of type `T`, once for the function `name`. It throws `TypeError` for a value that is
 * no plain object, and for a key that is not among `keys`. `hint` returns further advice.
 */
export function optionCheck<T extends object>(
  name: string,
  keys: OptionKeys<T>,
  hint = "",
): (options: T | undefined) => void {
  const known = new Set(Object.keys(keys)), also = hint && `; ${hint}`;
  const list = (): string => [...known].join(", ");
  return (options) => {
    if (options === undefined) return;
    if (!isPlainObject(options)) {
      throw new TypeError(
        `Options of ${name} must be an object of ${list()}: received ${describe(options)}${also}`,
      );
    }
    for (const key in options) {
      if (known.has(key)) continue;
      const near = nearest(key, known);
      const meant = near === null ? "it" : `did you mean "${near}"? It`;
      throw new TypeError(`Unknown option "${key}" of ${name}: ${meant} takes ${list()}${also}`);
    }
  };
}

/** {@linkcode optionCheck} of an object that must be given: it has arguments that a function cannot do without. */
export function argumentsCheck<T extends object>(
  name: string,
  keys: OptionKeys<T>,
): (args: T) => void {
  const check = optionCheck<T>(name, keys);
  return (args) => {
    if (args === undefined) throw new TypeError(`Missing arguments of ${name}: wanted an object`);
    check(args);
  };
}

/**
 * Finds the most similar name, ignoring case: one that holds it or that it holds, one that it abbreviates, else the one
 * of fewest edits; null where more than half of the letters differ.
 */
function nearest(key: string, names: Iterable<string>): string | null {
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, "");
  const wanted = plain(key);
  let found: string | null = null, least = Infinity;
  for (const name of names) {
    const other = plain(name);
    const [short, long] = wanted.length < other.length ? [wanted, other] : [other, wanted];
    const isLong = short.length > 2;
    const edits = isLong && long.includes(short)
      ? 0
      : isLong && abbreviates(short, long)
      ? 0.5
      : distance(wanted, other);
    if (edits > long.length / 2 || edits >= least) continue;
    found = name;
    least = edits;
  }
  return found;
}

/** True where the letters of one text occur in another in their order, as those of `msg` do in `message`. */
function abbreviates(short: string, long: string): boolean {
  let at = 0;
  for (const letter of long) if (letter === short[at]) at++;
  return at === short.length && short[0] === long[0];
}

/** Insertions, deletions, substitutions and swaps of neighbours between two texts (Damerau and Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j), before = row;
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swap = isSwap ? before[j - 2] + 1 : Infinity;
      next.push(Math.min(change, swap, row[j] + 1, next[j - 1] + 1));
    }
    [before, row] = [row, next];
  }
  return row[b.length];
}
