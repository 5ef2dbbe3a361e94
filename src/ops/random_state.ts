/**
 * Where random keys come from: seeds, the sequence of eager draws, and the counters of graphs' random ops.
 *
 * A draw is a pure function of a key of two words. Eagerly the key is made at call time: from the seed of the call, which
 * gives the same numbers each time; without one from the global seed and the number of draws since it was set; without
 * either from the process's own random key. In a graph the op `RandomKey` makes the key of each run from the node's seeds
 * and a counter that grows with each run.
 * May import core and kernels.
 */
import { apply1, currentInterpreter, type OpInput } from "../core/apply.ts";
import { type Attrs, defineOp } from "../core/op.ts";
import { NdArray } from "../core/nd_array.ts";
import { threefryWords, type Words } from "../kernels/random_threefry.ts";

/** A seed as users give it: strings count by their characters. */
export type Seed = number | string;

/** TensorFlow's graph seed where only an op has one. */
const DEFAULT_SEED = 87654321;

const processKey: Words = [...crypto.getRandomValues(new Uint32Array(2))] as unknown as Words;
let globalSeed: number | null = null;
let draws = 0;

/** Counters of random ops by their seeds: how often each has drawn. */
export type RandomState = Map<string, number>;
let state: RandomState = new Map();

/** Runs `fn` with these counters: so a session can begin each sequence anew. */
export function withRandomState<R>(counters: RandomState, fn: () => R): R {
  const before = state;
  state = counters;
  try {
    return fn();
  } finally {
    state = before;
  }
}

/**
 * Sets the seed that all random functions start from: what is drawn after it repeats, call for call. Null takes it back.
 * Follows TensorFlow `tf.random.set_seed`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * tf.setRandomSeed(1);
 * const a = tf.randomUniform([3]).arraySync();
 * tf.setRandomSeed(1);
 * assertEquals(tf.randomUniform([3]).arraySync(), a);
 * tf.setRandomSeed(null);
 * ```
 */
export function setRandomSeed(seed: number | null): void {
  globalSeed = seed;
  draws = 0;
  state.clear();
}

function wordsOf(n: number): Words {
  return [n >>> 0, Math.floor(n / 2 ** 32) >>> 0];
}

/** A number for a seed: fractions and strings count in full. */
function seedNumber(seed: Seed): number {
  if (typeof seed === "number" && Number.isSafeInteger(seed)) return seed;
  let words: Words = [0, 0];
  for (const c of String(seed)) words = threefryWords(words, [c.codePointAt(0)!, 0]);
  return words[0];
}

/** The key of draw number `n` of an op with these seeds. */
function keyFor(seed: number, seed2: number, n: number): Words {
  return threefryWords(threefryWords(wordsOf(seed), wordsOf(seed2)), wordsOf(n));
}

function literal(key: Words): NdArray {
  return new NdArray("int32", [2], Int32Array.of(key[0], key[1]));
}

const RandomKey = defineOp({
  name: "RandomKey",
  inputs: [],
  outputs: ["key: int32"],
  attrs: ["seed: int = 0", "seed2: int = 0"],
  infer: () => [[2]],
  grad: null,
  stateful: true,
  cpu: (_, [out], { attrs: { seed, seed2 } }) => (out.data as Int32Array).set(nextKey(seed, seed2)),
});

function nextKey(seed: number, seed2: number): Words {
  if (seed === 0 && seed2 === 0) return threefryWords(processKey, wordsOf(draws++));
  const name = `${seed},${seed2}`;
  const n = state.get(name) ?? 0;
  state.set(name, n + 1);
  return keyFor(seed, seed2, n);
}

/** The same for a host kernel. */
export function nextSeed({ seed, seed2 }: Attrs): NdArray {
  return literal(nextKey(seed, seed2));
}

/** The key that a stateful op with these attributes draws with now. */
export function drawKey({ seed, seed2 }: Attrs): OpInput {
  return apply1(RandomKey, [], { seed, seed2 });
}

/** A key for an eager draw, or the seeds of a graph's node. */
export type SeedSource = { readonly key: OpInput } | {
  readonly attrs: { readonly seed: number; readonly seed2: number };
};

/** What a call with this seed draws with: see the top of the file. */
export function seedSource(seed: Seed | null | undefined): SeedSource {
  const own = seed === null || seed === undefined ? null : seedNumber(seed);
  if (currentInterpreter().symbolic) {
    if (own !== null) return { attrs: nonZero(globalSeed ?? DEFAULT_SEED, own) };
    return { attrs: globalSeed === null ? { seed: 0, seed2: 0 } : nonZero(globalSeed, draws++) };
  }
  if (own !== null) return { key: literal(keyFor(globalSeed ?? DEFAULT_SEED, own, 0)) };
  return {
    key: literal(
      globalSeed === null
        ? threefryWords(processKey, wordsOf(draws++))
        : keyFor(globalSeed, 0, draws++),
    ),
  };
}

/** Two zeros mean no seed at all: TensorFlow's way out. */
function nonZero(seed: number, seed2: number): { seed: number; seed2: number } {
  return seed === 0 && seed2 === 0 ? { seed: 0, seed2: 2 ** 31 - 1 } : { seed, seed2 };
}
