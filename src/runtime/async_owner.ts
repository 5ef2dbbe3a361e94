/**
 * Who owns what a body makes after an await: the body, where the platform can tell which code goes on for whom (Deno, Node, Bun).
 * Elsewhere ownership follows the body's tensors alone, and the garbage collector finds the rest.
 * May import runtime's tensors.
 */
import { type AmbientOwner, setAmbientOwner } from "./tensor.ts";

interface AsyncStorage {
  run<R>(store: AmbientOwner, fn: () => R): R;
  getStore(): AmbientOwner | undefined;
}

interface Process {
  getBuiltinModule?(name: string): { AsyncLocalStorage: new () => AsyncStorage } | undefined;
}

const { process } = globalThis as { process?: Process };
const Storage = process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
const storage = Storage ? new Storage() : null;
let waiting = 0;

/** Runs a body: what follows its awaits is `owner`'s as well. */
export function runOwned<R>(owner: AmbientOwner, fn: () => R): R {
  return storage ? storage.run(owner, fn) : fn();
}

/** A body began to wait. Each call is followed by one of {@linkcode endOwning}, unless the body never ends. */
export function beginOwning(): void {
  if (storage && waiting++ === 0) setAmbientOwner(() => storage.getStore());
}

/** A body has ended. */
export function endOwning(): void {
  if (storage && --waiting === 0) setAmbientOwner(null);
}
