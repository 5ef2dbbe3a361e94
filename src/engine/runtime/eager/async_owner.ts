/**
 * Finds the owner of tensors that a body makes after an await, on platforms that track asynchronous contexts (Deno,
 * Node, Bun). Elsewhere ownership follows the body's tensors alone, and the garbage collector frees the rest.
 */
import type { TapeRecording } from "../../autodiff/tape_recording.ts";
import type { EagerTensor } from "./tensor.ts";

/** Owner of tensors made outside scopes: a body that continued after an await. */
export interface AmbientOwner {
  adopt(t: EagerTensor): void;
  own(recording: TapeRecording): void;
}

interface AsyncStorage {
  run<R>(store: AmbientOwner, fn: () => R): R;
  getStore(): AmbientOwner | undefined;
}

interface Process {
  getBuiltinModule?(name: string): { AsyncLocalStorage: new () => AsyncStorage } | undefined;
}

/** The owners of code that goes on after an await. */
class AsyncOwners {
  #storage: AsyncStorage | null | undefined;
  #waiting = 0;

  /** Loaded at first use: in Deno `process` alone loads a dozen modules. */
  get #found(): AsyncStorage | null {
    if (this.#storage !== undefined) return this.#storage;
    const { process } = globalThis as { process?: Process };
    const Storage = process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
    return this.#storage = Storage ? new Storage() : null;
  }

  /** The owner of what the code that runs now makes; undefined where no body waits, or it is none's. */
  get current(): AmbientOwner | undefined {
    return this.#waiting > 0 ? this.#storage?.getStore() : undefined;
  }

  /** Runs a body; its code after awaits belongs to `owner` too. */
  run<R>(owner: AmbientOwner, fn: () => R): R {
    const storage = this.#found;
    return storage ? storage.run(owner, fn) : fn();
  }

  /** A body began to wait. Each call is followed by one of `end`, unless the body never ends. */
  begin(): void {
    if (this.#found) this.#waiting++;
  }
  /** Notes that a body has ended. */
  end(): void {
    if (this.#found) this.#waiting--;
  }
}

export const asyncOwners: AsyncOwners = new AsyncOwners();
