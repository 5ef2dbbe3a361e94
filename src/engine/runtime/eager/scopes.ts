/** Scopes (`tidy`, `scope`): owners of the tensors that eager code makes. */
import { Dynamic } from "../../core/scope_context.ts";
import { CompositeTensor } from "../../core/composite.ts";
import { isPlainObject, refusePromise } from "../../core/nest.ts";
import { NdArray } from "../../core/nd_array.ts";
import { Tensor } from "../../core/tensor.ts";
import type { TapeRecording } from "../../autodiff/tape_recording.ts";
import { asyncOwners } from "./async_owner.ts";
import type { EagerTensor } from "./tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";

/** A value owned by a scope: a tensor, or a tape's recording, which ends with the scope. */
export type Owned = EagerTensor | TapeRecording;

/** The values owned by the scopes in force, innermost last. */
export const scopes: Dynamic<Owned[][]> = new Dynamic([]);
/** No scope: the caller owns the tensors. */
export const OUTSIDE: Owned[][] = [];

/** Runs `fn` with no scope in force: the caller owns the new tensors. */
export function outsideScopes<R>(fn: () => R): R {
  return scopes.within(OUTSIDE, fn);
}

/** Runs `fn` and adds its new tensors to `owned`; they are not disposed here. */
export function withOwner<R>(owned: Owned[], fn: () => R): R {
  return scopes.within([owned], fn);
}

/** Runs `fn` and ends the recordings that it began. Its tensors belong to the scopes in force. */
export function endingRecordings<R>(fn: () => R): R {
  const owned: Owned[] = [];
  try {
    return scopes.within([...scopes.current, owned], fn);
  } finally {
    endScope(owned, new Set(owned));
  }
}

/** Runs `fn` and disposes its new tensors, except kept ones and the `survivors` of its result. */
export function tidyBut<R>(fn: () => R, survivors: (result: R) => Survivors): R {
  const owned: Owned[] = [];
  let surviving = NONE;
  try {
    const result = scopes.within([...scopes.current, owned], fn);
    surviving = survivors(result);
    return result;
  } finally {
    endScope(owned, surviving);
  }
}

/** Ends a recording with the scope in force, or with the body that continued after an await. */
export function ownRecording(recording: TapeRecording): void {
  const inner = scopes.current.at(-1);
  if (inner) inner.push(recording);
  else if (scopes.current !== OUTSIDE) asyncOwners.current?.own(recording);
}

/** Gives a tensor without a scope to the ambient owner, if any. */
export function offerToOwner(t: EagerTensor): void {
  if (scopes.current !== OUTSIDE) asyncOwners.current?.adopt(t);
}

/** Adds a tensor made outside scopes to the scope in force. */
export function enterScope(t: EagerTensor): void {
  const inner = scopes.current.at(-1);
  if (inner) inner.push(t);
  else offerToOwner(t);
}

/** The tensors that outlive a scope. */
interface Survivors {
  has(t: EagerTensor): boolean;
}
const NONE: Survivors = { has: () => false };

/** Ends a scope: disposes its tensors, except survivors, which move to the outer scope, and kept ones. */
export function endScope(owned: readonly Owned[], survivors: Survivors = NONE): void {
  const outer = scopes.current.at(-1);
  for (const t of owned) {
    if (!(t instanceof Tensor)) t.dispose();
    else if (t.isDisposed) continue;
    else if (t.kept && !(t.kept === "captured" && survivors.has(t))) t.outlive();
    else if (!survivors.has(t)) t.dispose();
    else if (outer) outer.push(t);
    else {
      t.guard();
      offerToOwner(t);
    }
  }
}

/**
 * Runs `fn` and disposes its new tensors, except the returned ones (in any nest) and kept ones. Tapes made inside end.
 * Throws `TypeError` where `fn` returns a promise: use `scope()` with `using` around awaits.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const before = tf.memory().numTensors;
 * const y = tf.tidy(() => tf.add(tf.square(3), 1));
 * console.log(y.item(), tf.memory().numTensors - before); // 10 1
 * y.dispose();
 * ```
 */
export function tidy<T>(nameOrFn: string | (() => T), fn?: () => T): T {
  const body = typeof nameOrFn === "function" && fn === undefined ? nameOrFn : fn;
  if (fn !== undefined && typeof nameOrFn !== "string") {
    throw new TypeError(`Cannot tidy: wanted a string as the name, received ${typeof nameOrFn}`);
  }
  if (typeof body !== "function") {
    throw new TypeError(`Cannot tidy: wanted a function, received ${typeof body}`);
  }
  return tidyBut(body, survivorsOf);
}

/** Returns the tensors of a result, which outlive the scope. Throws `TypeError` for a promise. */
function survivorsOf(result: unknown): Survivors {
  if (result === undefined) return NONE;
  refusePromise(result, refusal);
  if (result instanceof Tensor && result.components === null) {
    return { has: (t) => t === result };
  }
  return new Set<unknown>(tensorsIn(result));
}

function refusal(): string {
  return "Cannot return a Promise inside of tidy: use `using s = tf.scope()` around awaits";
}

/** Returns the tensors in any nest, and the parts of composite ones. */
function tensorsIn(value: unknown): Tensor[] {
  if (value instanceof Tensor) return value.components?.slice() ?? [value];
  if (value instanceof CompositeTensor) return tensorsIn(value.components);
  const found: Tensor[] = [];
  if (typeof value !== "object" || value === null) return found;
  // The nest may be deeper than the stack, contain itself, or repeat a list many times.
  const open: unknown[] = [value];
  let seen: Set<unknown> | null = null;
  for (let v = open.pop(); v !== undefined; v = open.pop()) {
    if (seen?.has(v)) continue;
    const parts = Array.isArray(v) ? v : isPlainObject(v) ? Object.values(v) : [];
    const before = open.length;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i];
      if (part instanceof NdArray) continue;
      if (part instanceof Tensor) {
        if (part.components === null) found.push(part);
        else found.push(...part.components);
      } else if (part instanceof CompositeTensor) open.push(part.components);
      else if (typeof part === "object" && part !== null) open.push(part);
    }
    if (open.length > before) (seen ??= new Set()).add(v);
  }
  return found;
}

/** Owns the tensors made while it is open. */
export interface Scope extends Disposable {
  /** Hands a tensor (or a nest of them) to the surrounding scope. */
  keep<T>(value: T): T;
}

/**
 * Opens a scope that owns every tensor and tape made until the end of the `using` block, awaits included.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const before = tf.memory().numTensors;
 * {
 *   using _s = tf.scope();
 *   tf.add(1, 2);
 * }
 * console.log(tf.memory().numTensors - before); // 0
 * ```
 */
export function scope(): Scope {
  const owned: Owned[] = [];
  const survivors = new Set<unknown>();
  const before = scopes.current;
  scopes.current = [...before, owned];
  return {
    keep<T>(value: T): T {
      for (const t of tensorsIn(value)) survivors.add(t);
      return value;
    },
    [Symbol.dispose]() {
      scopes.current = before;
      endScope(owned, survivors);
    },
  };
}

/**
 * Keeps a tensor, or the parts of a composite one, alive past the scopes in force; dispose it yourself.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tidy(() => tf.keep(tf.tensor([1, 2])));
 * console.log(x.isDisposed); // false
 * x.dispose();
 * ```
 */
export function keep<T extends Tensor | CompositeTensor>(tensor: T): T {
  if (tensor instanceof Tensor) return tensor.keep() as T;
  for (const t of tensorsIn(tensor)) t.keep();
  return tensor;
}

/**
 * Disposes every tensor in a nest.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1]), y = tf.tensor([2]);
 * tf.dispose({ x, others: [y] });
 * console.log(x.isDisposed, y.isDisposed); // true true
 * ```
 */
export function dispose(container: unknown): void {
  for (const t of tensorsIn(container)) t.dispose();
}
