/** Stateless random ops with key and counter, from files of TensorFlow: they draw the same numbers. On the host. */
import { apply1 } from "../../engine/core/apply.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { defineOp, type OpDef } from "../../engine/core/op.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import { type NdArray, setElement } from "../../engine/core/nd_array.ts";
import {
  keyAndCounter,
  Philox,
  philoxInts,
  philoxReals,
} from "../../engine/kernels/host/philox.ts";
import { shapeFromHost } from "../../engine/ops/array/fill_ops.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { hostInts, shape } from "../../engine/ops/array/view.ts";
import { refuse } from "../../engine/ops/host/arrays.ts";
import { iota, sumInto } from "./shared.ts";

/** Numbers of the algorithms: TensorFlow takes Philox where it may choose. */
const PHILOX = 1, AUTO = 3;
const INPUTS = ["shape: Tshape", "key: uint64", "counter: uint64", "alg: int32"];
const INTEGERS = "{int32, int64, uint32, uint64}";

/** Returns the sequence of a key and a counter. Throws for another algorithm. */
function philoxOf([key, counter, alg]: readonly NdArray[]): Philox {
  const name = hostInts(alg)[0];
  if (name !== PHILOX && name !== AUTO) {
    throw new UnimplementedError(
      `Cannot draw with algorithm ${name}: it is neither Philox (${PHILOX}) nor left open (${AUTO})`,
    );
  }
  const [k] = key.data as BigUint64Array, [low, top] = counter.data as BigUint64Array;
  if (key.size < 1 || counter.size < 2) {
    refuse(
      `Philox needs a key of 1 and a counter of 2 elements, received ${key.size} and ${counter.size}`,
    );
  }
  return new Philox(k, top << 64n | low);
}

/** Defines an op that draws numbers of a shape with `draw`; it may take more inputs. */
function defineDraw(
  name: string,
  dtype: string,
  { more = [], draw }: {
    readonly more?: readonly string[];
    readonly draw: (out: NdArray, from: Philox, more: readonly NdArray[]) => void;
  },
): void {
  defineOp({
    name,
    inputs: [...INPUTS, ...more],
    outputs: ["output: dtype"],
    attrs: [`dtype: ${dtype}`, "Tshape: index = int32"],
    hostInputs: ["shape"],
    infer: ([shape]) => [shapeFromHost(shape)],
    grad: null,
    cpu: ([, key, counter, alg, ...more], [out]) => draw(out, philoxOf([key, counter, alg]), more),
  });
}

for (
  const [name, distribution] of [
    ["StatelessRandomUniformV2", "uniform"],
    ["StatelessRandomNormalV2", "normal"],
    ["StatelessTruncatedNormalV2", "truncated"],
  ] as const
) {
  defineDraw(name, "{float16, bfloat16, float32, float64} = float32", {
    draw: (out, from) => philoxReals(out, from, distribution),
  });
}
defineDraw("StatelessRandomUniformIntV2", INTEGERS, {
  more: ["minval: dtype", "maxval: dtype"],
  draw: (out, from, [low, high]) => {
    if (!(low.item() < high.item())) {
      refuse(`Need minval < maxval, got ${low.item()} >= ${high.item()}`);
    }
    philoxInts(out, from, low, high);
  },
});
defineDraw("StatelessRandomUniformFullIntV2", `${INTEGERS} = uint64`, {
  draw: (out, from) => philoxInts(out, from),
});

function defineKeys(name: string, hasAlgorithm: boolean): void {
  defineOp({
    name,
    inputs: ["seed: Tseed"],
    outputs: ["key: uint64", "counter: uint64", ...(hasAlgorithm ? ["alg: int32"] : [])],
    attrs: ["Tseed: index = int64"],
    infer: () => [[1], [2], ...(hasAlgorithm ? [[]] : [])],
    grad: null,
    cpu: ([seed], [key, counter, alg]) => {
      if (seed.size !== 2) refuse(`seed must have shape [2], not [${seed.shape}]`);
      const [first, second] = Array.from(seed.data as Int32Array, BigInt);
      const [k, low, top] = keyAndCounter([first, second]);
      (key.data as BigUint64Array)[0] = k;
      (counter.data as BigUint64Array).set([low, top]);
      if (hasAlgorithm) (alg.data as Int32Array)[0] = PHILOX;
    },
  });
}

defineKeys("StatelessRandomGetKeyCounter", false);
defineKeys("StatelessRandomGetKeyCounterAlg", true);

defineOp({
  name: "StatelessRandomGetAlg",
  inputs: [],
  outputs: ["alg: int32"],
  infer: () => [[]],
  grad: null,
  cpu: (_, [alg]) => {
    (alg.data as Int32Array)[0] = PHILOX;
  },
});

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
