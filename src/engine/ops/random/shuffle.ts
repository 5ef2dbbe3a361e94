/** Shuffled rows, and seeds that are made of others, with TensorFlow's numbers. On the host. */
import { apply, apply1, compose, type OpInput } from "../../core/apply.ts";
import { wantNumber } from "../../core/arguments.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { compatible, shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { Bitcast } from "../array/bitcast.ts";
import { gather } from "../array/gather.ts";
import { stack } from "../array/join.ts";
import { iota, sumInto } from "../array/segment.ts";
import { reshape, shape } from "../array/view.ts";
import { refuse } from "../host/arrays.ts";
import {
  asTensor,
  intScalar,
  intVector,
  shapeOfInput,
  toDenseInput,
  toIndexInput,
} from "../input.ts";
import { INTEGERS } from "./integer_ops.ts";
import { draw } from "./ops.ts";
import { BitsOfKey, KeyOfSeed, PHILOX, philoxOf } from "./philox.ts";
import { type Seed, seedSource } from "./state.ts";

export const StatelessShuffle: OpDef = defineOp({
  name: "StatelessShuffle",
  inputs: ["value: T", "key: uint64", "counter: uint64", "alg: int32"],
  outputs: ["output: T"],
  attrs: ["T: type"],
  infer: ([x]) => {
    if (x.shape?.length === 0) throw new ValueError("Cannot shuffle a scalar: it has no rows");
    return [x.shape];
  },
  grad: {
    saves: ["value", "key", "counter", "alg"],
    // The row numbers, shuffled alike, tell the source of each row.
    vjp: ({ value, ...state }, [dy]) => {
      const count = gather(shape(value), 0);
      const from = apply1(StatelessShuffle, [iota(count), state.key, state.counter, state.alg]);
      return [sumInto(dy, from, count), null, null, null];
    },
  },
  cpu: ([x, ...state], [out]) => {
    const [rows, ...row] = x.shape, inner = sizeOf(row), from = philoxOf(state);
    // R. Durstenfeld, "Algorithm 235: random permutation" (1964), from the front.
    const order = Array.from({ length: rows }, (_, i) => i);
    for (let i = 0; i < rows - 1; i++) {
      const j = i + from.next() % (rows - i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    order.forEach((source, to) => {
      for (let i = 0; i < inner; i++) setElement(out, to * inner + i, x.at(source * inner + i));
    });
  },
});

/**
 * Returns the state of a generator (a counter of two words, a key) after this many draws, with TensorFlow's room for
 * each.
 */
export const PhiloxSkip: OpDef = defineOp({
  name: "_PhiloxSkip",
  portable: { never: "TensorFlow skips in variables alone" },
  inputs: ["state: int64", "delta: uint64"],
  outputs: ["output: int64"],
  infer: ([state]) => [state.shape],
  grad: null,
  cpu: ([state, delta], [out]) => {
    if (state.rank !== 1 || state.size < 3) {
      refuse(
        `The state of Philox is a vector of at least 3 elements, received shape [${state.shape}]`,
      );
    }
    const from = state.data as BigInt64Array, to = out.data as BigInt64Array;
    to.set(from);
    const words = BigInt.asUintN(64, (delta.at(0) as bigint) * 256n);
    const counter = (BigInt.asUintN(64, from[1]) << 64n | BigInt.asUintN(64, from[0])) + words;
    to[0] = BigInt.asIntN(64, counter);
    to[1] = BigInt.asIntN(64, counter >> 64n);
  },
});

/** Returns a seed as TensorFlow reads it: two whole numbers, int32 or int64. */
export function seedInput(seed: TensorLike, fn: string): OpInput {
  // Larger numbers, such as the time, are int64, as TensorFlow makes them.
  const isWide = Array.isArray(seed) && seed.some((s) => typeof s === "number" && (s | 0) !== s);
  const given = isWide
    ? toDenseInput(seed, "seed", fn, { dtype: "int64" })
    : toIndexInput(seed, "seed", fn);
  if (!isInteger(given.dtype)) {
    throw new TypeError(`Cannot use ${given.dtype} as seed of ${fn}: wanted two whole numbers`);
  }
  const dims = shapeOfInput(given);
  if (!compatible(dims, [2])) {
    throw new ValueError(`Cannot use a seed of shape ${shapeText(dims)} in ${fn}: wanted [2]`);
  }
  return given;
}

/** Draws integers of the full range from a seed. */
function bitsOfSeed(dims: readonly number[], seed: OpInput, dtype: string): Tensor {
  const key = apply(KeyOfSeed, [seed], { Tseed: seed.dtype });
  return apply1(BitsOfKey, [intVector(dims), ...key, intScalar(PHILOX)], { dtype });
}

/**
 * Makes `num` new seeds of one, `[num, 2]` whole numbers of its dtype, for stateless functions: TensorFlow's numbers. A seed is
 * used once, either for numbers or to be split. Throws `TypeError` for a seed that is no whole numbers, `ValueError` for one that
 * is not two. Follows TensorFlow `tf.random.split`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.random.split([1, 2]).array()); // [[1105988140, 1738052849], [-335576002, 370444179]]
 * ```
 */
export function split(seed: TensorLike, num = 2): Tensor {
  wantNumber(num, "num", "split");
  if (!Number.isInteger(num) || num < 0) {
    throw new ValueError(`Cannot split a seed into ${num}: wanted a whole number from 0 on`);
  }
  const given = seedInput(seed, "split");
  return compose(() => bitsOfSeed([num, 2], given, given.dtype));
}

/**
 * Makes a new seed of one and a whole number, such as that of a step: TensorFlow's numbers. It has the dtype of `data`, int32 or
 * int64. Throws `TypeError` for a seed and data that are no whole numbers, `ValueError` for a seed that is not two and for data
 * that are no scalar. Follows TensorFlow `tf.random.fold_in`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.random.foldIn([1, 2], 5).array()); // [1105988140, 5]
 * ```
 */
export function foldIn(seed: TensorLike, data: TensorLike): Tensor {
  const given = seedInput(seed, "foldIn"), number = toIndexInput(data, "data", "foldIn");
  if (!["int32", "int64", "uint32", "uint64"].includes(number.dtype)) {
    throw new TypeError(`Cannot fold ${number.dtype} into a seed: wanted int32 or int64`);
  }
  const dims = shapeOfInput(number);
  if (!compatible(dims, [])) {
    throw new ValueError(
      `Cannot fold data of shape ${shapeText(dims)} into a seed: wanted a scalar`,
    );
  }
  return compose(() => stack([bitsOfSeed([], given, number.dtype), asTensor(number)]));
}

/**
 * The rows of `x` in random order; their gradients return to where they came from. A seed gives the same order as in
 * {@linkcode normal}. Throws `ValueError` for a scalar. Follows TensorFlow `tf.random.shuffle`, op `StatelessShuffle`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.random.shuffle([1, 2, 3, 4], 7);
 * console.log(await tf.sort(x).array()); // [1, 2, 3, 4]
 * ```
 */
export function shuffle(x: TensorLike, seed?: Seed | null): Tensor {
  const rows = toDenseInput(x, "x", "shuffle");
  return compose(() => {
    // Two words of 32 bits make a key.
    const words = draw(INTEGERS, seedSource(seed), [
      intVector([1, 2]),
      intScalar(-(2 ** 31)),
      intScalar(2 ** 31 - 1),
    ]);
    const key = reshape(apply1(Bitcast, [words], { type: "uint64" }), [1]);
    const counter = new NdArray("uint64", [2], new BigUint64Array(2));
    return apply1(StatelessShuffle, [rows, key, counter, intScalar(PHILOX)]);
  });
}
