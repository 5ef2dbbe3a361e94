/**
 * JavaScript's error classes as this library throws them: stacks begin at the line that called it.
 */
import { beginAtCaller } from "./user_stack.ts";

/** A constructor of the class's own instances, and of those of classes derived from it, with the caller's stack. */
function calledFrom<C extends ErrorConstructor>(builtin: C): C {
  function construct(message?: string, options?: ErrorOptions): Error {
    const made = new.target === undefined || new.target === construct ? builtin : new.target;
    const error = Reflect.construct(builtin, [message, options], made) as Error;
    beginAtCaller(error);
    return error;
  }
  construct.prototype = builtin.prototype;
  return Object.setPrototypeOf(construct, builtin);
}

/** `Error` with the caller's stack. */
export const Error: ErrorConstructor = /* @__PURE__ */ calledFrom(globalThis.Error);
/** `RangeError` with the caller's stack. */
export const RangeError: RangeErrorConstructor = /* @__PURE__ */ calledFrom(globalThis.RangeError);
/** `TypeError` with the caller's stack. */
export const TypeError: TypeErrorConstructor = /* @__PURE__ */ calledFrom(globalThis.TypeError);
