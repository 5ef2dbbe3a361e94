/** Generators of random numbers with TensorFlow's numbers: Philox with a counter and a key in a variable. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { wantNumber, wrongArgument } from "../../core/arguments.ts";
import { showAs } from "../../core/arrays/shown.ts";
import { asDType, type DType, isFloating, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import { isConcrete, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike, TrackedParts } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { currentGraph, isFuncGraph } from "../../graph/current_graph.ts";
import type { Graph } from "../../graph/graph.ts";
import type { Operation } from "../../graph/operation.ts";
import { controlDependencies } from "../../graph/scopes.ts";
import { Bitcast } from "../../ops/array/bitcast.ts";
import { cast } from "../../ops/array/cast.ts";
import { zerosLike } from "../../ops/array/creation.ts";
import { concat, stack, unstack } from "../../ops/array/join.ts";
import { slice } from "../../ops/array/slice.ts";
import { identity, literalInts, shape as shapeOf } from "../../ops/array/view.ts";
import {
  asTensor,
  castInput,
  intScalar,
  shapeOfInput,
  toDenseInput,
  toIndexInput,
} from "../../ops/input.ts";
import { add, mul, sub } from "../../ops/pointwise/arithmetic.ts";
import { BinomialOfKey } from "../../ops/random/distributions.ts";
import {
  BitsOfKey,
  IntegersOfKey,
  NormalOfKey,
  PHILOX,
  TruncatedOfKey,
  UniformOfKey,
} from "../../ops/random/philox.ts";
import { PhiloxSkip } from "../../ops/random/shuffle.ts";
import { prod } from "../../ops/reduce/prod.ts";
import { Variable, variable } from "./variable.ts";

/** A seed of a generator: a whole number of up to 192 bits, or its words, the lowest first. */
export type GeneratorSeed = number | bigint | readonly (number | bigint)[];

/** Words of a state: two of the counter, and the key. */
const WORDS = 3;

function wordsOf(seed: GeneratorSeed, fn: string): bigint[] {
  if (Array.isArray(seed)) {
    const words = seed.slice(0, WORDS).map((word) => wholeSeed(word, fn));
    return [...new Array<bigint>(WORDS - words.length).fill(0n), ...words];
  }
  const all = wholeSeed(seed, fn);
  return Array.from({ length: WORDS }, (_, i) => all >> BigInt(64 * i));
}

function wholeSeed(seed: unknown, fn: string): bigint {
  if (typeof seed === "bigint") return seed;
  if (typeof seed === "number" && Number.isInteger(seed)) return BigInt(seed);
  throw wrongArgument(seed, "seed", fn, "a whole number, or a list of them");
}

const stateOf = (words: readonly bigint[]): NdArray =>
  new NdArray("int64", [WORDS], BigInt64Array.from(words, (word) => BigInt.asIntN(64, word)));

/** Converts a state of three words. */
function stateInput(state: TensorLike, fn: string): OpInput {
  const given = toDenseInput(state, "state", fn, { dtype: "int64" }), dims = shapeOfInput(given);
  if (dims && (dims.length !== 1 || (dims[0] ?? WORDS) !== WORDS)) {
    throw new ValueError(`Cannot use a state of shape [${dims}] in ${fn}: wanted [${WORDS}]`);
  }
  if (!isInteger(given.dtype)) {
    throw new TypeError(`Cannot use ${given.dtype} as state of ${fn}: wanted whole numbers`);
  }
  return castInput(given, "int64");
}

/**
 * A source of random numbers whose state, three words of int64, is a variable: each call moves it on. The numbers are TensorFlow's for
 * the same state, algorithm Philox (J. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011); those of normal
 * distributions but for rounding. Made on the host. In functions and graphs each run moves the state on. A program that ends its
 * work frees the state by `dispose()`. Follows TensorFlow `tf.random.Generator`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using generator = tf.random.Generator.fromSeed(1);
 * console.log(await generator.uniform([2], 0, 10, "int32").array()); // [4, 9]
 * console.log(await generator.state.array()); // [513n, 0n, 0n]
 * ```
 */
export class Generator {
  /** The state: the counter's two words, and the key. */
  readonly state: Variable;
  /** The latest step in a graph of sessions: there nothing else orders steps, nor makes a fetch of numbers move the state on. */
  readonly #steps = new WeakMap<Graph, Operation>();

  /** Copies a state of three words. Throws `TypeError` and `ValueError` for others. */
  constructor(state: TensorLike) {
    const words = stateInput(state, "Generator");
    this.state = Variable.kept(() => variable(words, false, undefined, "int64"));
  }

  /** Makes one of a seed. The same seed gives the same numbers. */
  static fromSeed(seed: GeneratorSeed): Generator {
    return new Generator(stateOf(wordsOf(seed, "Generator.fromSeed")));
  }

  /** Makes one of a state of three words, such as that of another generator. */
  static fromState(state: TensorLike): Generator {
    return new Generator(state);
  }

  /** Makes one of a key and a counter of two words. */
  static fromKeyCounter(key: number | bigint, counter: readonly (number | bigint)[]): Generator {
    return new Generator(stateOf(keyed(key, counter, "Generator.fromKeyCounter")));
  }

  /** Makes one of a random state. */
  static fromNonDeterministicState(): Generator {
    return new Generator(stateOf([...crypto.getRandomValues(new BigUint64Array(WORDS))]));
  }

  /** Number of the algorithm: 1, Philox. */
  get algorithm(): number {
    return PHILOX;
  }

  /** The key, int64. */
  get key(): Tensor {
    return compose(() => slice(identity(this.state), [WORDS - 1], [1]).reshape([]));
  }

  /** Sets the state. Throws as the constructor. */
  reset(state: TensorLike): void {
    this.state.assign(stateInput(state, "reset"));
  }

  /** Sets the state to that of a seed. */
  resetFromSeed(seed: GeneratorSeed): void {
    this.state.assign(stateOf(wordsOf(seed, "resetFromSeed")));
  }

  /** Sets the state to a key and a counter of two words. */
  resetFromKeyCounter(key: number | bigint, counter: readonly (number | bigint)[]): void {
    this.state.assign(stateOf(keyed(key, counter, "resetFromKeyCounter")));
  }

  /** Moves the state on by `delta` numbers, each with TensorFlow's room. Returns the state before. */
  skip(delta: TensorLike): Tensor {
    const count = toDenseInput(delta, "delta", "skip", { dtype: "uint64" });
    if (!isInteger(count.dtype)) {
      throw new TypeError(`Cannot skip ${count.dtype} numbers: wanted a whole number`);
    }
    const graph = currentGraph(), isPlain = graph !== null && !isFuncGraph(graph);
    const last = isPlain ? this.#steps.get(graph) : undefined;
    const before = controlDependencies(last ? [last] : [], () => identity(this.state));
    let step: Operation | undefined;
    compose(() => {
      const next = apply1(PhiloxSkip, [before, castInput(count, "uint64")]);
      step = this.state.assign(next)?.operation;
      return [];
    });
    if (!isPlain || step === undefined) return before;
    this.#steps.set(graph, step);
    return controlDependencies([step], () => identity(before));
  }

  /** Draws from a normal distribution. Throws `TypeError` for dtypes that are no floats. */
  normal(shape: TensorLike, mean = 0, stdDev = 1, dtype: DType = "float32"): Tensor {
    return this.#scaled(NormalOfKey, shape, { mean, stdDev, dtype, fn: "normal" });
  }

  /** Draws from a normal distribution cut at two standard deviations. Throws as {@linkcode normal}. */
  truncatedNormal(shape: TensorLike, mean = 0, stdDev = 1, dtype: DType = "float32"): Tensor {
    return this.#scaled(TruncatedOfKey, shape, { mean, stdDev, dtype, fn: "truncatedNormal" });
  }

  /**
   * Draws evenly from `[minval, maxval)`: floats, by default up to 1, or whole numbers (int32, int64, uint32, uint64), which want both ends.
   * Throws `ValueError` where one is missing or the interval is empty.
   */
  uniform(
    shape: TensorLike,
    minval: number | bigint = 0,
    maxval?: number | bigint | null,
    dtype: DType = "float32",
  ): Tensor {
    const to = asDType(dtype), fn = "uniform";
    if (isFloating(to)) {
      wantNumber(minval, "minval", fn);
      if (maxval !== undefined && maxval !== null) wantNumber(maxval, "maxval", fn);
      const low = Number(minval), high = Number(maxval ?? 1);
      return compose(() => {
        const drawn = this.#draw(UniformOfKey, shape, fn, { dtype: to });
        const ends = [low, high].map((end) =>
          asTensor(toDenseInput(end, "end", fn, { dtype: to }))
        );
        return add(mul(drawn, sub(ends[1], ends[0])), ends[0]);
      });
    }
    wantWide(to, fn);
    if (maxval === undefined || maxval === null) {
      throw new ValueError(`Cannot draw ${to} by ${fn}: maxval must be given for whole numbers`);
    }
    const ends = [minval, maxval].map((end) => wholeEnd(end, to, fn));
    return this.#draw(IntegersOfKey, shape, fn, {}, ends);
  }

  /** Draws whole numbers of the full range: int32, int64, uint32 or uint64. Throws `TypeError` for other dtypes. */
  uniformFullInt(shape: TensorLike, dtype: DType = "uint64"): Tensor {
    const to = asDType(dtype);
    wantWide(to, "uniformFullInt");
    return this.#draw(BitsOfKey, shape, "uniformFullInt", { dtype: to });
  }

  /**
   * Draws numbers of successes in `counts` trials, each with a probability of `probs`; these broadcast to the end of the shape. Throws
   * `TypeError` for other dtypes than floats, int32 and int64, `ValueError` for shapes that do not fit.
   */
  binomial(
    shape: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    dtype: DType = "int32",
  ): Tensor {
    const fn = "binomial", to = asDType(dtype);
    if (!["float16", "float32", "float64", "int32", "int64"].includes(to)) {
      throw new TypeError(`Cannot draw ${to} by ${fn}: wanted floats, int32 or int64`);
    }
    const [n, p] = [[counts, "counts"] as const, [probs, "probs"] as const].map(([x, arg]) => {
      const given = toDenseInput(x, arg, fn);
      if (given.dtype === "string" || given.dtype.startsWith("complex")) {
        throw new TypeError(`Cannot use ${given.dtype} as ${arg} of ${fn}: wanted real numbers`);
      }
      return castInput(given, given.dtype === "float64" ? "float64" : "float32");
    });
    const wide = n.dtype === "float64" || p.dtype === "float64" ? "float64" : "float32";
    const trials = [castInput(n, wide), castInput(p, wide)];
    // TensorFlow leaves room by the number of distributions too.
    const places = (): Tensor =>
      prod(apply1(lookupOp("BroadcastArgs")!, trials.map((x) => shapeOf(asTensor(x)))));
    const room = (count: Tensor): Tensor => mul(add(count, mul(places(), 3)), 50);
    return this.#draw(BinomialOfKey, shape, fn, { dtype: to }, trials, room);
  }

  /** Draws `count` seeds of stateless functions: `[2, count]`, int64, a seed in each column. */
  makeSeeds(count = 1): Tensor {
    wantCount(count, "makeSeeds");
    return compose(() => {
      const keys = this.uniformFullInt([count], "int64");
      return stack([keys, zerosLike(keys)]);
    });
  }

  /** Makes `count` generators whose numbers are independent of each other and of this one's, whose state moves on. */
  split(count = 1): Generator[] {
    wantCount(count, "split");
    const states = compose(() => {
      const keys = this.uniformFullInt([count, 1], "int64");
      return unstack(concat([zerosLike(keys), zerosLike(keys), keys], 1));
    });
    const made = states.map((state) => new Generator(state));
    for (const state of states) if (!state.isSymbolic) state.dispose();
    return made;
  }

  /** @internal */
  trackedParts(): TrackedParts {
    return { children: { _state_var: this.state } };
  }

  /** Frees the state. */
  dispose(): void {
    this.state.dispose();
  }

  /** {@linkcode dispose} at the end of a block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  #scaled(
    op: OpDef,
    shape: TensorLike,
    { mean, stdDev, dtype, fn }: {
      readonly mean: number;
      readonly stdDev: number;
      readonly dtype: DType;
      readonly fn: string;
    },
  ): Tensor {
    wantNumber(mean, "mean", fn);
    wantNumber(stdDev, "stdDev", fn);
    const to = asDType(dtype);
    if (!isFloating(to)) throw new TypeError(`Cannot draw ${to} by ${fn}: wanted floats`);
    return compose(() => add(mul(this.#draw(op, shape, fn, { dtype: to }), stdDev), mean));
  }

  /** Draws numbers of a shape by an op with key and counter. The state moves on by as many numbers, or by those of `room`. */
  #draw(
    op: OpDef,
    shape: TensorLike,
    fn: string,
    attrs: { readonly dtype?: DType },
    more: readonly OpInput[] = [],
    room?: (count: Tensor) => Tensor,
  ): Tensor {
    const dims = toIndexInput(shape, "shape", fn), known = literalInts(dims);
    return compose(() => {
      const count = known !== undefined && isConcrete(known) && !room
        ? new NdArray("uint64", [], BigUint64Array.of(BigInt(Math.max(0, sizeOf(known)))))
        : cast(room ? room(prod(asTensor(dims))) : prod(asTensor(dims)), "uint64");
      const words = apply1(Bitcast, [this.skip(count)], { type: "uint64" });
      const counter = slice(words, [0], [WORDS - 1]), key = slice(words, [WORDS - 1], [1]);
      return apply1(op, [dims, key, counter, intScalar(PHILOX), ...more], attrs);
    });
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return "<tf.random.Generator: Philox>";
  }
}
showAs(Generator);

function keyed(
  key: number | bigint,
  counter: readonly (number | bigint)[],
  fn: string,
): bigint[] {
  if (!Array.isArray(counter) || counter.length !== WORDS - 1) {
    throw wrongArgument(counter, "counter", fn, `a list of ${WORDS - 1} whole numbers`);
  }
  return [...counter, key].map((word) => wholeSeed(word, fn));
}

/** Throws for a dtype that no draw of whole numbers has. */
function wantWide(dtype: DType, fn: string): void {
  if (["int32", "int64", "uint32", "uint64"].includes(dtype)) return;
  throw new TypeError(`Cannot draw ${dtype} by ${fn}: wanted int32, int64, uint32 or uint64`);
}

function wantCount(count: number, fn: string): void {
  wantNumber(count, "count", fn);
  if (Number.isInteger(count) && count >= 0) return;
  throw new ValueError(
    `Cannot apply ${fn}: count must be a whole number from 0 on, received ${count}`,
  );
}

function wholeEnd(end: unknown, dtype: DType, fn: string): NdArray {
  const isWhole = typeof end === "bigint" || typeof end === "number" && Number.isInteger(end);
  if (!isWhole) throw wrongArgument(end, "minval", fn, "a whole number, as is maxval");
  const isWide = dtype === "int64" || dtype === "uint64";
  const value = isWide ? BigInt(end as number) : Number(end);
  return toDenseInput([value] as TensorLike, "minval", fn, { dtype }).reshape(
    [],
  ) as unknown as NdArray;
}

/** The generator of the process; null until one is wanted. */
const global: { generator: Generator | null } = { generator: null };

/**
 * The generator of the process, of a random state where none was set. Follows TensorFlow `tf.random.get_global_generator`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.random.setGlobalGenerator(tf.random.Generator.fromSeed(5));
 * console.log(tf.random.getGlobalGenerator().normal([2]).shape); // [2]
 * ```
 */
export function getGlobalGenerator(): Generator {
  return global.generator ??= Generator.fromNonDeterministicState();
}

/**
 * Makes a generator that of the process. Functions that were traced keep the one that they had. Throws `TypeError` for what is
 * no generator. Follows TensorFlow `tf.random.set_global_generator`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const mine = tf.random.Generator.fromSeed(5);
 * tf.random.setGlobalGenerator(mine);
 * console.log(tf.random.getGlobalGenerator() === mine); // true
 * ```
 */
export function setGlobalGenerator(generator: Generator): void {
  if (!(generator instanceof Generator)) {
    throw wrongArgument(generator, "generator", "setGlobalGenerator", "a Generator");
  }
  global.generator = generator;
}
