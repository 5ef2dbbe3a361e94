/** The texts of objects in `console.log` of Deno and Node. */
import { type Spec, specText } from "../tensor_spec.ts";

/** The methods by which Deno and Node ask an object for its text. */
const ASKED = [Symbol.for("Deno.customInspect"), Symbol.for("nodejs.util.inspect.custom")];

/** Sets the text of a class in `console.log`: by default that of `toString()`. Subclasses may override it. */
export function showAs<T>(
  { prototype }: { readonly prototype: T },
  text: (x: T) => string = String,
): void {
  ask(prototype as object, function (this: T) {
    return text(this);
  });
}

/** Defines a method of a class, which subclasses may override. */
export function define<T>(
  { prototype }: { readonly prototype: T },
  key: PropertyKey,
  value: (this: T, hint: string) => unknown,
): void {
  Object.defineProperty(prototype, key, { value, configurable: true, writable: true });
}

/** Sets the text of a class in template literals too. Conversion to a number stays as it was. */
export function writeAs<T extends object>(
  shown: { readonly prototype: T },
  text: (x: T) => string,
): void {
  showAs(shown, text);
  const { [Symbol.toPrimitive]: other } = shown.prototype as {
    [Symbol.toPrimitive]?(hint: string): unknown;
  };
  define(shown, Symbol.toPrimitive, function (hint) {
    return hint === "string" || !other ? text(this) : other.call(this, hint);
  });
}

/** Sets the text of a class in `JSON.stringify` too, which would fail on its cycles. */
export function nameAs<T extends object>(
  shown: { readonly prototype: T },
  text: (x: T) => string,
): void {
  writeAs(shown, text);
  define(shown, "toJSON", function () {
    return text(this);
  });
}

/** Sets the text of a function in `console.log` and template literals; returns the function. */
export function showFunction<F extends object>(fn: F, text: () => string): F {
  ask(fn, text);
  define({ prototype: fn }, "toString", text);
  return fn;
}

function ask(object: object, value: () => string): void {
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
