/** JavaScript's error classes for this library's errors: stacks begin at the line that called it. */
import { beginAtCaller } from "./user_stack.ts";

/** Makes a constructor of the class's own instances, and of those of derived classes, with the caller's stack. */
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
