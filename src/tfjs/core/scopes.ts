/** Scopes with TensorFlow.js's rule: a result's tensors are kept at any depth, in objects of any class too. */
import { wrongArgument } from "../../engine/core/arguments.ts";
import { isPromise } from "../../engine/core/nest.ts";
import { type Scope, scope } from "../../engine/runtime/eager/tensor.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { getTensorsInContainer } from "./tensor_util.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

const open: { readonly scope: Scope; readonly name: string }[] = [];

/** Opens a scope. */
export function startScope(name: string): void {
  open.push({ scope: scope(), name });
}

/** Closes the innermost scope: tensors made since then are disposed, except those in `result`. */
export function endScope(result?: unknown): void {
  const ended = open.pop();
  if (ended === undefined) throw new Error("Cannot end a scope: none was started");
  for (const t of getTensorsInContainer(result)) ended.scope.keep(t);
  ended.scope[Symbol.dispose]();
}

/** Names of the open scopes, outermost first. */
export function scopeNames(): string[] {
  return open.map(({ name }) => name);
}

/**
 * Runs `fn` and disposes the tensors made inside, except those in its result. A promise is returned with a warning: the
 * scope ends before it resolves. See `tf.tidy`.
 */
export function tidy<T>(nameOrFn: string | (() => T), fn?: () => T): T {
  const [name, body] = typeof nameOrFn === "function" && fn === undefined
    ? ["", nameOrFn]
    : [nameOrFn, fn];
  if (typeof name !== "string") {
    throw new Error(
      "Cannot tidy: wanted a text as the name of the scope",
    );
  }
  if (typeof body !== "function") {
    throw new Error(`Please provide a function to tidy(), received ${typeof body}`);
  }
  startScope(name);
  let result: T | undefined;
  try {
    result = body();
    if (isPromise(result)) console.error("Cannot return a Promise inside of tidy.");
    return result;
  } finally {
    endScope(result);
  }
}

/** Disposes every tensor in a container. See `tf.dispose`. */
export function dispose(container: unknown): void {
  for (const t of getTensorsInContainer(container)) t.dispose();
}

/** Keeps a tensor past the open scopes. See `tf.keep`. */
export function keep<T extends Tensor>(result: T): T {
  if (!(result instanceof Tensor)) throw wrongArgument(result, "result", "keep", "a tensor");
  return result.keep();
}
