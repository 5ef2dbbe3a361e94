/** Shuffles and skips of Philox, from files of TensorFlow. On the host. */
import { apply1 } from "../../engine/core/apply.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { setElement } from "../../engine/core/nd_array.ts";
import { defineOp, type OpDef } from "../../engine/core/op.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { shape } from "../../engine/ops/array/view.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";
import { philoxOf } from "../../engine/ops/random/philox.ts";
import { iota, sumInto } from "../../engine/ops/array/segment.ts";

const StatelessShuffle: OpDef = defineOp({
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
defineOp({
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
