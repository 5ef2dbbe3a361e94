/** Every function of the main entry is called with values of a wrong kind: it tells so in words of ours, and never in those of the engine. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";

/** Values by kind, each made anew. */
const KINDS: Readonly<Record<string, () => unknown>> = {
  nothing: () => undefined,
  null: () => null,
  "a number": () => 1,
  NaN: () => NaN,
  "a text": () => "x",
  "a boolean": () => true,
  "an object": () => ({}),
  "an empty list": () => [],
  "a list of texts": () => ["a"],
  "a function": () => () => {},
  "a symbol": () => Symbol("s"),
  "a date": () => new Date(0),
};

/** Second arguments, beside none. */
const SECOND: readonly unknown[] = [undefined, 1, "x", null];

/** Messages of JavaScript engines about code that took a value for something else. */
const NATIVE =
  /Cannot read propert|is not a function|Cannot destructure|is not iterable|not a constructor|convert a Symbol value|Maximum call|Cannot mix BigInt|Cannot use 'in'|private (?:field|member)/;

/** Functions that change the process, or wait for a device. */
const LEFT_OUT =
  /^(?:disposeVariables|ready|setBackend|tuneKernels|nextFrame|print|(?:dis|en)able\w+)$/;

type Untyped = (...args: unknown[]) => unknown;

function functionsOf(
  module: object,
  above: readonly object[] = [],
  prefix = "",
): [string, Untyped][] {
  return Object.entries(module).flatMap(([name, value]): [string, Untyped][] => {
    if (Object.prototype.toString.call(value) === "[object Module]") {
      return above.includes(value)
        ? []
        : functionsOf(value, [...above, value], `${prefix}${name}.`);
    }
    const isPlain = typeof value === "function" &&
      !/^class\b/.test(Function.prototype.toString.call(value)) && !LEFT_OUT.test(name);
    return isPlain ? [[prefix + name, value as Untyped]] : [];
  });
}

Deno.test("values of wrong kinds are refused in our words by every function of the main entry", async () => {
  const functions = functionsOf(tf, [tf]);
  assert(functions.length > 400, `${functions.length} functions`);
  const found: string[] = [];
  for (const [name, fn] of functions) {
    for (const [kind, make] of Object.entries(KINDS)) {
      for (const second of SECOND) {
        try {
          // What waits for a device or a camera says no more than that it waits.
          const result = fn(make(), second);
          if (result instanceof Promise) result.catch(() => {});
          await Promise.race([result, Promise.resolve()]);
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          if (NATIVE.test(message)) found.push(`${name}(${kind}, ${String(second)}): ${message}`);
        }
      }
    }
  }
  assertEquals(found, []);
});
