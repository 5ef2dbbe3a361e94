/**
 * Scopes (`tidy`, `scope`): who owns the tensors that eager code makes.
 */
import { Dynamic } from "../../core/scope_context.ts";
import { CompositeTensor } from "../../core/composite.ts";
import { isPlainObject, refusePromise } from "../../core/nest.ts";
import { Tensor } from "../../core/tensor.ts";
import type { TapeRecording } from "../../autodiff/tape_recording.ts";
import type { EagerTensor } from "./tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";

/** A value that a scope owns: a tensor, or the recording of a tape, which ends with it. */
export type Owned = EagerTensor | TapeRecording;

/** Lists of what the scopes in force own, innermost last. */
export const scopes: Dynamic<Owned[][]> = new Dynamic([]);
const OUTSIDE: Owned[][] = [];

/** Owns what code makes outside scopes: a body that went on after an await. */
export interface AmbientOwner {
  adopt(t: EagerTensor): void;
  own(recording: TapeRecording): void;
}
let ambientOwner: (() => AmbientOwner | undefined) | null = null;

/** Says how to find who owns what is made outside scopes; null where nobody can. */
export function setAmbientOwner(find: (() => AmbientOwner | undefined) | null): void {
  ambientOwner = find;
}

/** Runs `fn` with no scope in force: what it makes is owned by its maker. */
export function outsideScopes<R>(fn: () => R): R {
  return scopes.within(OUTSIDE, fn);
}

/** Runs `fn`; what it makes belongs to `owned`, and is not disposed here. */
export function withOwner<R>(owned: Owned[], fn: () => R): R {
  return scopes.within([owned], fn);
}

/** Runs `fn`, at whose end the recordings end that it began. Its tensors belong to the scopes in force. */
export function endingRecordings<R>(fn: () => R): R {
  const owned: Owned[] = [];
  try {
    return scopes.within([...scopes.current, owned], fn);
  } finally {
    endScope(owned, new Set(owned));
  }
}

/** Runs `fn` and disposes the tensors made inside, but for those that `survivors` names of what it returns, and those kept. */
export function tidyBut<R>(fn: () => R, survivors: (result: R) => Survivors): R {
  const owned: Owned[] = [];
  let surviving: Survivors = new Set();
  try {
    const result = scopes.within([...scopes.current, owned], fn);
    surviving = survivors(result);
    return result;
  } finally {
    endScope(owned, surviving);
  }
}

/** Lets a recording end with the scope in force, or with the body whose code goes on after an await. */
export function ownRecording(recording: TapeRecording): void {
  const inner = scopes.current.at(-1);
  if (inner) inner.push(recording);
  else if (ambientOwner !== null && scopes.current !== OUTSIDE) ambientOwner()?.own(recording);
}

/** Gives a tensor that no scope owns to the ambient owner, where there is one. */
export function offerToOwner(t: EagerTensor): void {
  if (ambientOwner !== null && scopes.current !== OUTSIDE) ambientOwner()?.adopt(t);
}

/** Puts a tensor that was made outside scopes under those in force. */
export function enterScope(t: EagerTensor): void {
  const inner = scopes.current.at(-1);
  if (inner) inner.push(t);
  else offerToOwner(t);
}

/** Says which tensors outlive a scope. */
interface Survivors {
  has(t: EagerTensor): boolean;
}

/** Ends a scope that owns these: disposes all but survivors, which the scope in force takes, and what is kept. */
export function endScope(owned: readonly Owned[], survivors: Survivors = new Set()): void {
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
 * Runs `fn` and disposes the tensors made inside, but for those it returns (in any nest) and those kept. Tapes made inside end.
 * Throws `TypeError` where `fn` returns a promise: use `scope()` with `using` around awaits.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const before = tf.memory().numTensors;
 * const y = tf.tidy(() => tf.add(tf.square(3), 1));
 * assertEquals(y.item(), 10);
 * assertEquals(tf.memory().numTensors, before + 1);
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
  const tidied = (): T => {
    const result = body();
    refusePromise(
      result,
      () => "Cannot return a Promise inside of tidy: use `using s = tf.scope()` around awaits",
    );
    return result;
  };
  return tidyBut(tidied, (result) => new Set(tensorsIn(result)));
}

/** The tensors in a nest, whatever else is in it; of composite ones their parts. */
function tensorsIn(value: unknown): Tensor[] {
  if (value instanceof Tensor) return value.components?.slice() ?? [value];
  if (value instanceof CompositeTensor) return tensorsIn(value.components);
  const found: Tensor[] = [];
  // It may be nested deeper than the stack is, and hold itself, or the same lists very often.
  const open: unknown[] = [value], seen = new Set<unknown>();
  while (open.length > 0) {
    const v = open.pop();
    if (seen.has(v)) continue;
    const parts = Array.isArray(v) ? v : isPlainObject(v) ? Object.values(v) : [];
    const before = open.length;
    for (const part of parts) {
      if (part instanceof Tensor) found.push(...part.components ?? [part]);
      else if (part instanceof CompositeTensor) open.push(part.components);
      else if (typeof part === "object" && part !== null) open.push(part);
    }
    if (open.length > before) seen.add(v);
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
 * import { assertEquals } from "@std/assert";
 * const before = tf.memory().numTensors;
 * {
 *   using _s = tf.scope();
 *   tf.add(1, 2);
 * }
 * assertEquals(tf.memory().numTensors, before);
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

/** Keeps a tensor, or the parts of a composite one, alive past the scopes in force; dispose it yourself. */
export function keep<T extends Tensor | CompositeTensor>(tensor: T): T {
  if (tensor instanceof Tensor) return tensor.keep() as T;
  for (const t of tensorsIn(tensor)) t.keep();
  return tensor;
}

/** Disposes every tensor in a nest. */
export function dispose(container: unknown): void {
  for (const t of tensorsIn(container)) t.dispose();
}
