/** Values that functions and methods cannot use, and the errors that their calls give. */

import * as tf from "@weft/weft";
import { fileName } from "../devices.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

/** The first frame of a stack. */
export function firstFrame(e: unknown): string {
  const { message, stack = "" } = e as Error, at = stack.indexOf(message);
  return stack.slice(at + message.length).split("\n").find((l) => /^\s+at |@/.test(l)) ?? "";
}

class Wrong {}

/** Values of every kind, most of which a function cannot use at a given place. */
export const KINDS: Readonly<Record<string, Any>> = {
  undefined: undefined,
  null: null,
  boolean: true,
  number: 1.5,
  string: "a string",
  symbol: Symbol("a symbol"),
  function: () => undefined,
  "an object": { key: 1 },
  "an instance": new Wrong(),
  "a list": [undefined],
};

/** Kinds that tell most, after other arguments. */
export const TELLING: readonly string[] = ["undefined", "null", "number", "symbol", "an object"];

/** Arguments that stand before the wrong one. */
export const before = (): Any[][] => {
  const t = tf.tensor([[1, 2], [3, 4]]);
  return [[t], [t, t], [[t]], [(x: Any): Any => x], ["float32"]];
};

/** True where a stack begins at the call, or at what awaits it here. */
export function beginsHere(e: Error, here: string): boolean {
  return [here, fileName(import.meta.url)].some((file) => firstFrame(e).includes(file));
}

/** Messages of the engine, for what the library did not look at. */
export const ENGINE: RegExp =
  /^(Cannot (read|set) properties|Cannot destructure|Cannot convert (a Symbol|a BigInt|undefined or null|object to)|Reduce of empty|undefined is|Invalid array length)|is not (a function|iterable)/;

/** Functions of a namespace and of those in it. Classes, and what would wait for a device, are left out. */
export function* functionsOf(
  namespace: object,
  path: string,
  seen: Set<unknown> = new Set(),
): Generator<[string, (...args: Any[]) => unknown]> {
  for (const [key, value] of Object.entries(namespace)) {
    if (value === null || seen.has(value)) continue;
    seen.add(value);
    const name = `${path}.${key}`, kind = Object.prototype.toString.call(value);
    if (kind === "[object Module]") yield* functionsOf(value, name, seen);
    if (typeof value === "function" && !/^class\b/.test(String(value))) yield [name, value];
  }
}

/** Returns the error that a call throws or rejects with, null for none. A resolved value is ended. */
export async function errorOf(call: () => unknown): Promise<unknown> {
  try {
    const result = tf.tidy(() => {
      const made = call();
      return made instanceof Promise ? { promise: made } as Any : undefined;
    });
    if (result === undefined) return null;
    let next = (_: null): void => {};
    const turn = new Promise<null>((resolve) => next = resolve);
    const timer = setTimeout(next, 0, null);
    const settled = result.promise.then(() => null, (e: unknown) => e);
    return await Promise.race([settled, turn]).finally(() => clearTimeout(timer));
  } catch (thrown) {
    return thrown;
  }
}
