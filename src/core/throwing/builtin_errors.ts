/**
 * JavaScript's error classes as this library throws them: stacks begin at the line that called it.
 */
import { beginAtCaller } from "./user_stack.ts";

/** A class itself, but for the stacks of what is made by this name. */
function calledFrom<C extends ErrorConstructor>(builtin: C): C {
  return new Proxy(builtin, {
    construct(target, args, newTarget) {
      const error = Reflect.construct(target, args, newTarget) as Error;
      beginAtCaller(error);
      return error;
    },
  });
}

/** `Error` with the caller's stack. */
export const Error: ErrorConstructor = /* @__PURE__ */ calledFrom(globalThis.Error);
/** `RangeError` with the caller's stack. */
export const RangeError: RangeErrorConstructor = /* @__PURE__ */ calledFrom(globalThis.RangeError);
/** `TypeError` with the caller's stack. */
export const TypeError: TypeErrorConstructor = /* @__PURE__ */ calledFrom(globalThis.TypeError);
