/**
 * Finds the owner of tensors that a body makes after an await, on platforms that track asynchronous contexts (Deno,
 * Node, Bun). Elsewhere ownership follows the body's tensors alone, and the garbage collector frees the rest.
 */
import { type AmbientOwner, setAmbientOwner } from "../eager/tensor.ts";

interface AsyncStorage {
  run<R>(store: AmbientOwner, fn: () => R): R;
  getStore(): AmbientOwner | undefined;
}

interface Process {
  getBuiltinModule?(name: string): { AsyncLocalStorage: new () => AsyncStorage } | undefined;
}

let found: AsyncStorage | null | undefined;
let waiting = 0;

/** Loaded at first use: in Deno `process` alone loads a dozen modules. */
function findStorage(): AsyncStorage | null {
  if (found !== undefined) return found;
  const { process } = globalThis as { process?: Process };
  const Storage = process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
  return found = Storage ? new Storage() : null;
}

/** Runs a body; its code after awaits belongs to `owner` too. */
export function runOwned<R>(owner: AmbientOwner, fn: () => R): R {
  const storage = findStorage();
  return storage ? storage.run(owner, fn) : fn();
}

/** Notes that a body began to wait. Each call is followed by {@linkcode endOwning}, unless the body never ends. */
export function beginOwning(): void {
  const storage = findStorage();
  if (storage && waiting++ === 0) setAmbientOwner(() => storage.getStore());
}

/** Notes that a body has ended. */
export function endOwning(): void {
  if (findStorage() && --waiting === 0) setAmbientOwner(null);
}
