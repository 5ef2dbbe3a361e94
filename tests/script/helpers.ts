/** Common parts of the tests of script ops: running a piece of graph, both modes at once, and looking for leaks. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { testOnGpu } from "../devices.ts";

/** Anything fetchable, in any nest. */
// deno-lint-ignore no-explicit-any
export type Any = any;

/** A session on a new graph with what `build` returns. Close it with `await using`. */
export function open<T>(
  build: () => T,
  options: tf.SessionOptions = {},
): { sess: tf.Session; parts: T } & AsyncDisposable {
  const graph = new tf.Graph();
  const parts = graph.asDefault(build);
  const sess = new tf.Session({ graph, ...options });
  return { sess, parts, [Symbol.asyncDispose]: () => sess.close() };
}

/** Builds a graph, fetches what `build` returned, and gives values as plain JavaScript. */
export async function evaluate(build: () => unknown, feeds?: tf.Feeds): Promise<Any> {
  await using g = open(build);
  return plain(await g.sess.run(g.parts as Any, { feeds }));
}

/** Arrays as nested lists, strings decoded, everything else as it is. */
export function plain(value: Any): Any {
  if (value instanceof tf.Tensor) return plain(value.ndarraySync());
  if (value instanceof tf.NdArray) return plain(value.toArray());
  if (value instanceof Uint8Array) return new TextDecoder().decode(value);
  if (Array.isArray(value)) return value.map(plain);
  if (
    value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype
  ) {
    return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, plain(v)]));
  }
  return value;
}

/** Returns the results of the same code in a graph and in eager mode; eager tensors are freed. */
export async function bothModes(build: () => unknown): Promise<{ graph: Any; eager: Any }> {
  const graph = await evaluate(build);
  const eager = tf.tidy(() => plain(build()));
  return { graph, eager };
}

/** Asserts that graph and eager mode give this. */
export async function assertBoth(build: () => unknown, expected: unknown): Promise<void> {
  assertEquals(await bothModes(build), { graph: expected, eager: expected });
}

/** The error that graph and eager mode end with, which must be of the same class. */
export async function errorOfBoth(build: () => unknown): Promise<Error> {
  const graph = await errorOf(() => evaluate(build));
  const eager = await errorOf(() => tf.tidy(() => void build()));
  assertEquals(
    [eager.name, eager.constructor],
    [graph.name, graph.constructor],
    `${graph.message}\n--- and eagerly ---\n${eager.message}`,
  );
  return graph;
}

/** Returns the error that `fn` throws or rejects with. */
export async function errorOf(fn: () => unknown): Promise<tf.errors.OpError> {
  try {
    await fn();
  } catch (e) {
    return e as tf.errors.OpError;
  }
  throw new Error("Expected an error, but there was none");
}

/** Ends when all is done that eager code put off until a device was read that can only be awaited, as in browsers. */
export async function settled(isDone: () => boolean = () => false, reads = 16): Promise<void> {
  // What is put off reads up to four times in turn.
  for (let i = 0; i < reads && !isDone(); i++) {
    // Computed on the device, in an unwatched dtype.
    using x = tf.scalar(i, "int32"), y = tf.add(x, 1);
    await y.data();
    await new Promise((done) => setTimeout(done));
  }
}

/** Returns the error that `fn` throws or rejects with, or a late one from the console. */
export async function errorToldOf(fn: () => unknown): Promise<tf.errors.OpError> {
  using told = stub(console, "error");
  return await errorOf(async () => {
    await fn();
    await settled(() => told.calls.length > 0, 1000);
    if (told.calls.length > 0) throw told.calls[0].args[0];
  });
}

/** Totals that a loop must leave where they were. */
export function totals(): Record<string, number> {
  const { numTensors, numBytes, numDataBuffers, registeredScripts, liveTapes } = tf.memory();
  return { numTensors, numBytes, numDataBuffers, registeredScripts, liveTapes };
}

/** Asserts that `fn` leaves no tensor, tape or registered script behind, or nothing of what `counts` tells. */
export async function assertFlat(
  fn: () => unknown,
  counts: () => Record<string, number> = totals,
): Promise<void> {
  await assertFlatAfter(0, fn, counts);
}

/** Asserts as {@linkcode assertFlat} does, of a run whose last turn may end after it: in as many turns of the event loop as that takes. */
export async function assertFlatLater(fn: () => unknown): Promise<void> {
  await assertFlatAfter(2000, fn, totals);
}

async function assertFlatAfter(
  turns: number,
  fn: () => unknown,
  counts: () => Record<string, number>,
): Promise<void> {
  for (let tries = 10; tries > 0; tries--) {
    const before = counts();
    await fn();
    let after = counts();
    for (let turn = 0; turn < turns && isLarger(after, before); turn++) {
      await new Promise((resolve) => setTimeout(resolve));
      after = counts();
    }
    // The collector frees what earlier tests left, whenever it likes: such a count says nothing.
    if (tries > 1 && isLarger(before, after)) continue;
    return assertEquals(after, before);
  }
}

/** True where any of the totals `a` is larger than that of `b`. */
function isLarger(a: Record<string, number>, b: Record<string, number>): boolean {
  return Object.keys(a).some((name) => a[name] > b[name]);
}

/** A promise with its ends outside. */
export function deferred<T = void>(): PromiseWithResolvers<T> {
  return Promise.withResolvers<T>();
}

/** {@linkcode testOnGpu} on a GPU that can only be awaited. */
export function testAwaited(name: string, fn: () => Promise<void>): void {
  testOnGpu(name, async () => {
    const gpu = gpuDevice() as Any;
    Object.defineProperty(gpu, "canReadSync", { value: false, configurable: true });
    gpu.readSync = () => null;
    try {
      await fn();
    } finally {
      delete gpu.canReadSync;
      delete gpu.readSync;
    }
  });
}
