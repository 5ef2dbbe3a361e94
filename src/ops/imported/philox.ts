/**
 * Stateless random ops that take a key and a counter, as files of TensorFlow have them: the same numbers as there. On the host.
 */
import type { Distribution } from "../../core/meaning.ts";
import { InvalidArgumentError, UnimplementedError } from "../../core/errors.ts";
import { defineOp } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { keyAndCounter, Philox, philoxInts, philoxReals } from "../../kernels/host/philox.ts";
import { shapeFromHost } from "../array/fill_ops.ts";
import { hostInts } from "../array/view.ts";

/** Numbers of the algorithms: TensorFlow takes Philox where it may choose. */
const PHILOX = 1, AUTO = 3;
const INPUTS = ["shape: Tshape", "key: uint64", "counter: uint64", "alg: int32"];
const INTEGERS = "{int32, int64, uint32, uint64}";

/** The sequence of a key and a counter. Throws where they are of another algorithm. */
function philoxOf(op: string, [key, counter, alg]: readonly NdArray[]): Philox {
  const name = hostInts(alg)[0];
  if (name !== PHILOX && name !== AUTO) {
    throw new UnimplementedError(
      `Cannot draw with algorithm ${name}: it is neither Philox (${PHILOX}) nor left open (${AUTO})`,
      { op },
    );
  }
  const [k] = key.data as BigUint64Array, [low, top] = counter.data as BigUint64Array;
  if (key.size < 1 || counter.size < 2) {
    throw new InvalidArgumentError(
      `Philox needs a key of 1 and a counter of 2 elements, received ${key.size} and ${counter.size}`,
      { op },
    );
  }
  return new Philox(k, top << 64n | low);
}

function defineReal(name: string, distribution: Distribution): void {
  defineOp({
    name,
    inputs: INPUTS,
    outputs: ["output: dtype"],
    attrs: ["dtype: {float16, bfloat16, float32, float64} = float32", "Tshape: index = int32"],
    hostInputs: ["shape"],
    infer: ([shape]) => [shapeFromHost(shape)],
    grad: null,
    cpu: ([, ...state], [out]) => philoxReals(out, philoxOf(name, state), distribution),
  });
}

defineReal("StatelessRandomUniformV2", "uniform");
defineReal("StatelessRandomNormalV2", "normal");
defineReal("StatelessTruncatedNormalV2", "truncated");

defineOp({
  name: "StatelessRandomUniformIntV2",
  inputs: [...INPUTS, "minval: dtype", "maxval: dtype"],
  outputs: ["output: dtype"],
  attrs: [`dtype: ${INTEGERS}`, "Tshape: index = int32"],
  hostInputs: ["shape"],
  infer: ([shape]) => [shapeFromHost(shape)],
  grad: null,
  cpu: ([, key, counter, alg, low, high], [out]) => {
    const op = "StatelessRandomUniformIntV2", from = philoxOf(op, [key, counter, alg]);
    if (!(low.item() < high.item())) {
      throw new InvalidArgumentError(
        `Need minval < maxval, got ${low.item()} >= ${high.item()}`,
        { op },
      );
    }
    philoxInts(out, from, low, high);
  },
});

defineOp({
  name: "StatelessRandomUniformFullIntV2",
  inputs: INPUTS,
  outputs: ["output: dtype"],
  attrs: [`dtype: ${INTEGERS} = uint64`, "Tshape: index = int32"],
  hostInputs: ["shape"],
  infer: ([shape]) => [shapeFromHost(shape)],
  grad: null,
  cpu: ([, ...state], [out]) => philoxInts(out, philoxOf("StatelessRandomUniformFullIntV2", state)),
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
      if (seed.size !== 2) {
        throw new InvalidArgumentError(`seed must have shape [2], not [${seed.shape}]`, {
          op: name,
        });
      }
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
