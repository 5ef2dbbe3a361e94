/** The texts of objects in `console.log` of Deno and Node. */
import { type Spec, specText } from "../tensor_spec.ts";

/** The methods by which Deno and Node ask an object for its text. */
const ASKED = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** Sets the text of a class in `console.log`: by default that of `toString()`. Subclasses may override it. */
export function showAs<T>(
  { prototype }: { readonly prototype: T },
  text: (x: T) => string = String,
): void {
  define(prototype as object, function (this: T) {
    return text(this);
  });
}

/** Sets the text of a function in `console.log`; returns the function. */
export function showFunction<F extends object>(fn: F, text: () => string): F {
  define(fn, text);
  return fn;
}

function define(object: object, value: () => string): void {
  for (const symbol of ASKED) {
    Object.defineProperty(object, symbol, { value, configurable: true, writable: true });
  }
}

/** Returns a number with its noun: `1 step`, `2 steps`. */
export function counted(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** Returns specs as text, with their names where they have some: `x float32[?,3], float32[]`. */
export function specsText(specs: readonly (Spec & { readonly name?: string })[]): string {
  return specs.map((s) => `${s.name === undefined ? "" : `${s.name} `}${specText(s)}`).join(", ");
}
