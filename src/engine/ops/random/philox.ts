/** Stateless random ops with key and counter: they draw TensorFlow's numbers for the same seeds. On the host. */
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { UnimplementedError } from "../../core/errors.ts";
import type { Distribution } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { keyAndCounter, Philox, philoxInts, philoxReals } from "../../kernels/host/philox.ts";
import { wantedShape } from "../array/fill_ops.ts";
import { hostInts } from "../array/view.ts";
import { refuse } from "../host/arrays.ts";
import { intScalar, toIndexInput, toInput } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";

/** Numbers of the algorithms: TensorFlow takes Philox where it may choose. */
export const PHILOX = 1;
const AUTO = 3;
const INPUTS = ["shape: Tshape", "key: uint64", "counter: uint64", "alg: int32"];
const INTEGERS = "{int32, int64, uint32, uint64}";

/** Returns the sequence of a key and a counter. Throws for another algorithm. */
export function philoxOf([key, counter, alg]: readonly NdArray[]): Philox {
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

/** Returns the sequence of a seed, two whole numbers. */
export function philoxOfSeed(seed: NdArray): Philox {
  if (seed.size !== 2) refuse(`seed must have shape [2], not [${seed.shape}]`);
  const [first, second] = Array.from(seed.data as Int32Array, BigInt);
  const [key, low, top] = keyAndCounter([first, second]);
  return new Philox(key, top << 64n | low);
}

/** Defines an op that draws numbers of a shape with `draw`; it may take more inputs. */
function defineDraw(
  name: string,
  dtype: string,
  { more = [], draw }: {
    readonly more?: readonly string[];
    readonly draw: (out: NdArray, from: Philox, more: readonly NdArray[]) => void;
  },
): OpDef {
  return defineOp({
    name,
    inputs: [...INPUTS, ...more],
    outputs: ["output: dtype"],
    attrs: [`dtype: ${dtype}`, "Tshape: index = int32"],
    hostInputs: ["shape"],
    infer: ([shape]) => [wantedShape(shape)],
    grad: null,
    cpu: ([, key, counter, alg, ...more], [out]) => draw(out, philoxOf([key, counter, alg]), more),
  });
}

function defineReal(name: string, distribution: Distribution): OpDef {
  return defineDraw(name, "{float16, bfloat16, float32, float64} = float32", {
    draw: (out, from) => philoxReals(out, from, distribution),
  });
}

/** Numbers evenly distributed over `[0, 1)`. */
export const UniformOfKey: OpDef = defineReal("StatelessRandomUniformV2", "uniform");
/** The other distributions of real numbers. */
export const NormalOfKey: OpDef = defineReal("StatelessRandomNormalV2", "normal");
export const TruncatedOfKey: OpDef = defineReal("StatelessTruncatedNormalV2", "truncated");

/** Integers in `[minval, maxval)`. */
export const IntegersOfKey: OpDef = defineDraw("StatelessRandomUniformIntV2", INTEGERS, {
  more: ["minval: dtype", "maxval: dtype"],
  draw: (out, from, [low, high]) => {
    if (!(low.item() < high.item())) {
      refuse(`Need minval < maxval, got ${low.item()} >= ${high.item()}`);
    }
    philoxInts(out, from, low, high);
  },
});
/** Integers of the full range. */
export const BitsOfKey: OpDef = defineDraw(
  "StatelessRandomUniformFullIntV2",
  `${INTEGERS} = uint64`,
  { draw: (out, from) => philoxInts(out, from) },
);

function defineKeys(name: string, hasAlgorithm: boolean): OpDef {
  return defineOp({
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

/** Key and counter of a seed. */
export const KeyOfSeed: OpDef = defineKeys("StatelessRandomGetKeyCounter", false);
/** Key, counter and algorithm of a seed. */
export const KeyAndAlgorithm: OpDef = defineKeys("StatelessRandomGetKeyCounterAlg", true);
/** The algorithm alone. */
export const Algorithm: OpDef = defineOp({
  name: "StatelessRandomGetAlg",
  inputs: [],
  outputs: ["alg: int32"],
  infer: () => [[]],
  grad: null,
  cpu: (_, [alg]) => {
    (alg.data as Int32Array)[0] = PHILOX;
  },
});

/** The ops of this file. */
export const PHILOX_OPS: readonly OpDef[] = [
  ...[UniformOfKey, NormalOfKey, TruncatedOfKey, IntegersOfKey, BitsOfKey],
  ...[KeyOfSeed, KeyAndAlgorithm, Algorithm],
];

/** Key, counter and algorithm of a user's seed, two integers. */
function keyOf(seed: TensorLike): OpInput[] {
  // Larger numbers, such as the time, are int64, as TensorFlow makes them.
  const isWide = Array.isArray(seed) && seed.some((s) => typeof s === "number" && (s | 0) !== s);
  const given = isWide
    ? toInput(seed, "seed", "random", { dtype: "int64" })
    : toIndexInput(seed, "seed", "random");
  return [...apply(KeyOfSeed, [given], { Tseed: given.dtype }), intScalar(PHILOX)];
}

/** TensorFlow's numbers of `stateless_random_uniform`, evenly distributed over `[low, high)`. */
export function uniformOfSeed(
  shape: TensorLike,
  seed: TensorLike,
  [low, high]: readonly [number, number],
): Tensor {
  const x = apply1(UniformOfKey, [toIndexInput(shape, "shape", "random"), ...keyOf(seed)]);
  return add(mul(x, Math.fround(high) - Math.fround(low)), low);
}

/** TensorFlow's integers of `stateless_random_uniform`, in `[low, high)`. */
export function integersOfSeed(
  shape: TensorLike,
  seed: TensorLike,
  [low, high]: readonly [number, number],
): Tensor {
  return apply1(IntegersOfKey, [
    toIndexInput(shape, "shape", "random"),
    ...keyOf(seed),
    intScalar(low),
    intScalar(high),
  ]);
}
