/**
 * Random keys: seeds, the sequence of eager draws, and the sequences of graphs' random ops. A draw is a pure function
 * of a key of two words. In eager mode the key is made at call time: from the call's seed, which gives the same numbers
 * each time; else from the global seed and the number of draws since it was set; else from the process's own random
 * key. An op with seeds as attributes has a sequence: the op `RandomKey` makes each key from the seeds and the number
 * of draws before. That number is the op's own in each session, traced function and pass over a dataset (`DrawCounts`);
 * in eager mode all ops of the same seeds count together, as in TensorFlow.
 */
import { wantNumber } from "../../core/arguments.ts";
import { Dynamic } from "../../core/scope_context.ts";
import { apply1, currentInterpreter, type OpInput } from "../../core/apply.ts";
import { type Attrs, defineOp } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { threefryWords, type Words } from "../../kernels/pointwise/threefry.ts";

/** A user's seed: strings count by their characters. */
export type Seed = number | string;

/** TensorFlow's graph seed where only an op has one. */
const DEFAULT_SEED = 87654321;
/** Op seeds for eager draws without one, and for eager calls of scripts: no op in a graph has these. */
const UNSEEDED = -1, SCRIPT = -2;
/** Draws of one op in one element, and elements, have separate numbers. */
const ELEMENTS = 2 ** 32;

const processKey: Words = [...crypto.getRandomValues(new Uint32Array(2))] as unknown as Words;
/** The state of eager draws. */
const eager = {
  /** The global seed. */
  seed: null as number | null,
  /** Draws since it was set. */
  draws: 0,
  /** Eager calls of scripts since it was set. */
  calls: 0,
  /** The number of times that it was set. */
  epoch: 0,
  /** Seeds of calls without any determining seed. */
  unseeded: 0,
};

/** The key of a draw counter: an operation of a graph, or the place of a function's call. */
type Place = object | string;

/** Draw counts of the random ops in one session, function or pass, and of the functions they call. */
export class DrawCounts {
  readonly #followsSeed: boolean;
  #epoch = eager.epoch;
  readonly #counts = new Map<Place, number>();
  readonly #inner = new Map<Place, DrawCounts>();
  readonly #element: number;
  /** Separates passes over datasets of elements; null outside of them. */
  readonly branch: Words | null;
  /** The enclosing places, outermost first. */
  readonly path: string;

  /** `followsSeed`: all sequences begin anew when the global seed is set. Inner counts follow the outer ones. */
  constructor(followsSeed = false, element = 0, path = "", branch: Words | null = null) {
    this.#followsSeed = followsSeed;
    this.#element = element;
    this.path = path;
    this.branch = branch;
  }

  /**
   * Returns the number of this op's draws before and adds one; for an op's first draw in an element, the element's
   * number.
   */
  next(op: Place): number {
    this.#look();
    const n = this.#counts.get(op) ?? 0;
    this.#counts.set(op, n + 1);
    return this.#element === 0 ? n : n * ELEMENTS + this.#element - 1;
  }

  /** Returns the number of this op's draws; `to` sets it, to continue from there. */
  drawn(op: Place, to?: number): number {
    if (to !== undefined) this.#counts.set(op, to);
    return this.#counts.get(op) ?? 0;
  }

  /** Returns the counts of one element among concurrent ones: they do not depend on the order. */
  ofElement(element: number): DrawCounts {
    return new DrawCounts(this.#followsSeed, element + 1, this.path, this.branch);
  }

  /** Returns the counts for one element's own result, which draws differently from the other elements' results. */
  branchOf(element: number): DrawCounts {
    const branch = threefryWords(this.branch ?? [0, 0], wordsOf(element + 1));
    return new DrawCounts(this.#followsSeed, this.#element, this.path, branch);
  }

  /** Returns the counts of a function called at this place. */
  within(call: Place): DrawCounts {
    this.#look();
    let inner = this.#inner.get(call);
    if (!inner) {
      const path = `${this.path}/${
        typeof call === "string" ? call : (call as { name?: string }).name
      }`;
      this.#inner.set(
        call,
        inner = new DrawCounts(this.#followsSeed, this.#element, path, this.branch),
      );
    }
    return inner;
  }

  #look(): void {
    if (!this.#followsSeed || this.#epoch === eager.epoch) return;
    this.#epoch = eager.epoch;
    this.#counts.clear();
    this.#inner.clear();
  }
}

/** The operation of a graph that draws now; null for eager ops. */
const drawing = new Dynamic<{ readonly counts: DrawCounts; readonly op: Place } | null>(null);
/** Draw counts of eager ops, by their seeds. */
const eagerCounts = new Map<string, number>();

/** Runs `fn`, in which an operation of a graph draws. */
export function drawingFor<R>(op: Place, counts: DrawCounts, fn: () => R): R {
  return drawing.within({ counts, op }, fn);
}

/**
 * Sets the global seed of all random functions and `shuffle()`: later draws repeat, call for call, and the sequences of
 * functions begin anew. Null removes it. Follows TensorFlow `tf.random.set_seed`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.setRandomSeed(1);
 * const a = tf.randomUniform([3]);
 * tf.setRandomSeed(1);
 * console.log(tf.equal(tf.randomUniform([3]), a).arraySync()); // [true, true, true]
 * tf.setRandomSeed(null);
 * ```
 */
export function setRandomSeed(seed: number | null): void {
  if (seed !== null) wantNumber(seed, "seed", "setRandomSeed");
  Object.assign(eager, { seed, draws: 0, calls: 0, epoch: eager.epoch + 1 });
  eagerCounts.clear();
}

function wordsOf(n: number | bigint): Words {
  if (typeof n === "bigint") return [Number(n & 0xffffffffn), Number(n >> 32n & 0xffffffffn)];
  return [n >>> 0, Math.floor(n / 2 ** 32) >>> 0];
}

/** Converts a seed to a number: fractions and strings count in full. */
function seedNumber(seed: Seed): number {
  if (typeof seed === "number" && Number.isSafeInteger(seed)) return seed;
  let words: Words = [0, 0];
  for (const c of String(seed)) words = threefryWords(words, [c.codePointAt(0)!, 0]);
  return words[0];
}

/** Returns the key of draw number `n` of an op with these seeds. */
function keyFor(seed: number | bigint, seed2: number | bigint, n: number): Words {
  return threefryWords(threefryWords(wordsOf(seed), wordsOf(seed2)), wordsOf(n));
}

function literal(key: Words): NdArray {
  return new NdArray("int32", [2], Int32Array.of(key[0], key[1]));
}

const RandomKey = defineOp({
  name: "RandomKey",
  portable: { never: "its keys come from a sequence that TensorFlow does not have" },
  inputs: [],
  outputs: ["key: int32"],
  attrs: ["seed: int64 = 0", "seed2: int64 = 0"],
  infer: () => [[2]],
  grad: null,
  stateful: true,
  cpu: (_, [out], { attrs: { seed, seed2 } }) => (out.data as Int32Array).set(nextKey(seed, seed2)),
});

function nextKey(seed: number | bigint, seed2: number | bigint): Words {
  if (seed === 0 && seed2 === 0) return threefryWords(processKey, wordsOf(eager.draws++));
  if (drawing.current !== null) {
    const { counts, op } = drawing.current, key = keyFor(seed, seed2, counts.next(op));
    return counts.branch === null ? key : threefryWords(key, counts.branch);
  }
  const name = `${seed},${seed2}`, n = eagerCounts.get(name) ?? 0;
  eagerCounts.set(name, n + 1);
  return keyFor(seed, seed2, n);
}

/** Returns the same for a host kernel. */
export function nextSeed({ seed, seed2 }: Attrs): NdArray {
  return literal(nextKey(seed, seed2));
}

/** Returns the key of the next draw of a stateful op with these attributes. */
export function drawKey({ seed, seed2 }: Attrs): OpInput {
  return apply1(RandomKey, [], { seed, seed2 });
}

/** Seeds of an op in a graph: two zeros mean none. */
export interface OpSeeds {
  /** The graph's. */
  readonly seed: number;
  /** The op's own. */
  readonly seed2: number;
}

/** One call of a script, numbered among those of its node, or among all eager calls. */
export interface CallNumber {
  /** Seeds of its node; null for an eager call. */
  readonly seeds: OpSeeds | null;
  /** Number of calls before. */
  readonly n: number;
  /** Place of the node. */
  readonly path: string;
}

/** Returns the seeds of a new script node; null without a graph. */
export function scriptSeeds(): OpSeeds | null {
  const source = currentInterpreter().symbolic ? seedSource(null) : null;
  return source !== null && "attrs" in source ? source.attrs : null;
}

/** Returns the seeds of a script's node that comes from a file. */
export function importedSeeds(token: string): OpSeeds {
  return eager.seed === null ? { seed: 0, seed2: 0 } : nonZero(eager.seed, seedNumber(token));
}

/** Counts a call of a script by a graph. */
export function nextCall(seeds: OpSeeds, op: Place, counts: DrawCounts): CallNumber {
  return { seeds, n: counts.next(op), path: counts.path };
}

/** Counts a call of a script by eager code. */
export function nextEagerCall(): CallNumber {
  return { seeds: null, n: eager.calls++, path: "" };
}

/**
 * Returns the 64-bit seed of a call: the same for the same global seed, node and call number; arbitrary without a seed.
 */
export function seedOfCall({ seeds, n, path }: CallNumber): bigint {
  let key: Words;
  if (seeds === null ? eager.seed === null : seeds.seed === 0 && seeds.seed2 === 0) {
    key = threefryWords(threefryWords(processKey, wordsOf(SCRIPT)), wordsOf(eager.unseeded++));
  } else {
    const { seed, seed2 } = seeds ?? { seed: eager.seed!, seed2: SCRIPT };
    key = keyFor(seed, seed2, n);
    // The same function at another place draws other numbers.
    for (const c of path) key = threefryWords(key, [c.codePointAt(0)!, 1]);
  }
  return (BigInt(key[0] >>> 0) << 32n) | BigInt(key[1] >>> 0);
}

/** A key for an eager draw, or the seeds of a graph's node. */
export type SeedSource = { readonly key: OpInput } | {
  readonly attrs: OpSeeds;
};

/** Returns the source of a call's draws with this seed: see the top of the file. */
export function seedSource(seed: Seed | null | undefined): SeedSource {
  const { symbolic, operationCount } = currentInterpreter();
  if (!symbolic) return { key: literal(eagerKey(seed)) };
  if (seed !== null && seed !== undefined) return sequenceSource(seed);
  // Counts as TensorFlow does: a function that is traced again draws the same numbers.
  const attrs = eager.seed === null
    ? { seed: 0, seed2: 0 }
    : nonZero(eager.seed, operationCount?.() ?? 0);
  return { attrs };
}

/** Returns the source of an op with this seed that has other numbers at each call, also in eager mode. */
export function sequenceSource(seed: Seed): SeedSource {
  return { attrs: nonZero(eager.seed ?? DEFAULT_SEED, seedNumber(seed)) };
}

/** Returns the key of one draw outside of graphs: the seed's, else the next of the global seed, else a fresh one. */
export function eagerKey(seed: Seed | null | undefined): Words {
  if (seed !== null && seed !== undefined) {
    return keyFor(eager.seed ?? DEFAULT_SEED, seedNumber(seed), 0);
  }
  return eager.seed === null
    ? threefryWords(processKey, wordsOf(eager.draws++))
    : keyFor(eager.seed, UNSEEDED, eager.draws++);
}

/**
 * Returns the seeds of an op as TensorFlow's `get_seed` does: the global one and its own; both null if neither was
 * given.
 */
export function seedsOf(seed: Seed | null | undefined): [number | null, number | null] {
  const own = seed === null || seed === undefined ? null : seedNumber(seed);
  if (eager.seed === null) return own === null ? [null, null] : [DEFAULT_SEED, own];
  const both = nonZero(eager.seed, own ?? eager.draws);
  return [both.seed, both.seed2];
}

/** Two zeros mean no seed: TensorFlow avoids them likewise. */
function nonZero(seed: number, seed2: number): { seed: number; seed2: number } {
  return seed === 0 && seed2 === 0 ? { seed: 0, seed2: 2 ** 31 - 1 } : { seed, seed2 };
}
