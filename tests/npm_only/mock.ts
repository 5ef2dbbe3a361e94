/**
 * Stands in for `@std/testing/mock` on machines that reach npm but not JSR (see tools/jsr.ts).
 *
 * @module
 */

import { AssertionError } from "./assert.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

/** A call that a spy saw. */
export interface SpyCall<Args extends unknown[] = Any[], Return = Any> {
  /** Arguments. */
  args: Args;
  /** Result. */
  returned?: Return;
  /** Error it threw. */
  error?: Error;
}

/** A function that remembers its calls. */
export interface Spy<Args extends unknown[] = Any[], Return = Any> {
  (...args: Args): Return;
  /** Calls so far. */
  calls: SpyCall<Args, Return>[];
}

/** A spy in the place of a method, which calls it. */
export interface MethodSpy<Args extends unknown[] = Any[], Return = Any> extends Spy<Args, Return> {
  /** Puts the method back. */
  restore(): void;
  /** Puts the method back. */
  [Symbol.dispose](): void;
}

/** Another function in the place of a method. */
export type Stub<Args extends unknown[] = Any[], Return = Any> = MethodSpy<Args, Return>;

/** Wraps a function in a spy. */
export function spy<Args extends unknown[], Return>(
  func?: (...args: Args) => Return,
): Spy<Args, Return>;
/** Puts a spy in the place of a method, which it calls. */
export function spy<Self, Name extends keyof Self>(self: Self, property: Name): MethodSpy;
export function spy(of: Any = () => undefined, property?: PropertyKey): Spy {
  return property === undefined ? spyOn(of) : stub(of, property as never, of[property]);
}

function spyOn<Args extends unknown[], Return>(
  func: (...args: Args) => Return,
): Spy<Args, Return> {
  const calls: SpyCall<Args, Return>[] = [];
  const seen = function (this: unknown, ...args: Args): Return {
    const call: SpyCall<Args, Return> = { args };
    calls.push(call);
    try {
      return call.returned = func.apply(this, args);
    } catch (error) {
      call.error = error as Error;
      throw error;
    }
  };
  return Object.assign(seen, { calls });
}

/** Puts a spy on `func` in the place of a method; default a function without result. */
export function stub<Self, Name extends keyof Self>(
  self: Self,
  property: Name,
  func: (...args: Any[]) => Any = () => undefined,
): Stub {
  const own = Object.getOwnPropertyDescriptor(self, property);
  const restore = (): void => {
    if (own === undefined) delete self[property];
    else Object.defineProperty(self, property, own);
  };
  const made = Object.assign(spyOn(func), { restore, [Symbol.dispose]: restore });
  Object.defineProperty(self, property, { value: made, configurable: true, writable: true });
  return made;
}

/** Asserts how often a spy was called. Throws `AssertionError`. */
export function assertSpyCalls(spy: Spy, expectedCalls: number): void {
  if (spy.calls.length === expectedCalls) return;
  throw new AssertionError(
    `Spy not called as much as expected: ${spy.calls.length} calls, wanted ${expectedCalls}`,
  );
}
