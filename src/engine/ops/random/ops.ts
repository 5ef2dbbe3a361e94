/** Random ops: stateless ones, which are functions of a seed, and the stateful ones made of them. */
import type { Distribution } from "../../core/meaning.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp, type OpDef, type OpInit } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import type { PartialShape } from "../../core/shape.ts";
import { drawCpu, drawIntsCpu, gammaCpu, multinomialCpu } from "../../kernels/host/random.ts";
import { knownInts } from "../array/view.ts";
import { shapeFromHost } from "../array/fill_ops.ts";
import { drawKey, nextSeed, type SeedSource } from "./state.ts";

const FLOATS = "{float16, bfloat16, float32, float64}";

const SEEDED = ["T: index = int32", "Tseed: index = int64"];

/** The shape that an op with a seed draws. Throws `ValueError` for a seed that is not two numbers. */
export function drawnShape(shape: Spec, seed: Spec): PartialShape {
  if (seed.shape && (seed.shape.length !== 1 || (seed.shape[0] ?? 2) !== 2)) {
    throw new ValueError(`seed must have shape [2], not [${seed.shape}]`);
  }
  return shapeFromHost(shape);
}

/** A stateless op and the stateful one of the same distribution. */
export interface Draw {
  /** The function of its seed. */
  readonly seeded: OpDef;
  /** The op with a sequence: the same inputs without the seed. */
  readonly drawn: OpDef;
  /** Number of the stateless op's seed input. */
  readonly key: number;
}

/** Defines the stateful op of a stateless one: it draws a key and passes on the attributes of these names. */
function defineDrawn(
  { seeded, key }: Omit<Draw, "drawn">,
  init: Pick<OpInit, "name" | "inputs" | "outputs"> & { readonly attrs: readonly string[] },
  passes: readonly string[] = [],
): Draw {
  const drawn = defineOp({
    ...init,
    attrs: ["seed: int64 = 0", "seed2: int64 = 0", ...init.attrs],
    hostInputs: seeded.hostInputs!,
    infer: (specs, attrs) =>
      seeded.infer(specs.toSpliced(key, 0, { dtype: "int32", shape: [2] }), attrs),
    grad: null,
    stateful: true,
    expand: (inputs, attrs) => [
      apply1(
        seeded,
        inputs.toSpliced(key, 0, drawKey(attrs)),
        Object.fromEntries(passes.map((name) => [name, attrs[name]])),
      ),
    ],
  });
  return { seeded, drawn, key };
}

function defineReal(stateless: string, stateful: string, distribution: Distribution): Draw {
  const seeded = defineOp({
    name: stateless,
    inputs: ["shape: T", "seed: Tseed"],
    outputs: ["output: dtype"],
    attrs: [`dtype: ${FLOATS} = float32`, ...SEEDED],
    hostInputs: ["shape"],
    infer: ([shape, seed]) => [drawnShape(shape, seed)],
    grad: null,
    meaning: { kind: "fill", how: distribution },
    cpu: ([, seed], [out]) => drawCpu(out, seed, distribution),
  });
  return defineDrawn({ seeded, key: 1 }, {
    name: stateful,
    inputs: ["shape: T"],
    outputs: ["output: dtype"],
    attrs: [`dtype: ${FLOATS}`, "T: index"],
  }, ["dtype"]);
}

/** Real numbers from a distribution: `shape`. */
export const REAL: Readonly<Record<Distribution, Draw>> = {
  uniform: defineReal("StatelessRandomUniform", "RandomUniform", "uniform"),
  normal: defineReal("StatelessRandomNormal", "RandomStandardNormal", "normal"),
  truncated: defineReal("StatelessTruncatedNormal", "TruncatedNormal", "truncated"),
};

/** Integers, between bounds if the op has them as inputs. */
function defineIntegers(
  name: string,
  dtype: string,
  { limits = [], index = "" }: { readonly limits?: readonly string[]; readonly index?: string },
): OpDef {
  return defineOp({
    name,
    inputs: ["shape: T", "seed: Tseed", ...limits.map((limit) => `${limit}: dtype`)],
    outputs: ["output: dtype"],
    attrs: [`dtype: ${dtype}`, `T: index${index}`, "Tseed: index = int64"],
    hostInputs: ["shape", ...limits],
    infer: ([shape, seed, low, high]) => {
      if (low?.value && high.value && !(low.value.item() < high.value.item())) {
        throw new ValueError(
          `Need minval < maxval, got ${low.value.item()} >= ${high.value.item()}`,
        );
      }
      return [drawnShape(shape, seed)];
    },
    grad: null,
    meaning: { kind: "fill", how: "integers" },
    cpu: ([, seed, low, high], [out]) => drawIntsCpu(out, seed, low, high),
  });
}

/** Integers in `[low, high)`: `shape`, `low`, `high`. */
export const INTEGERS: Draw = defineDrawn({
  seeded: defineIntegers("StatelessRandomUniformInt", "{int32, int64}", {
    limits: ["minval", "maxval"],
  }),
  key: 1,
}, {
  name: "RandomUniformInt",
  inputs: ["shape: T", "minval: Tout", "maxval: Tout"],
  outputs: ["output: Tout"],
  attrs: ["Tout: {int32, int64}", "T: index"],
});

/** Raw bits, integers of the dtype's full range: `shape` and the seed. */
export const StatelessBits: OpDef = defineIntegers(
  "StatelessRandomUniformFullInt",
  "{int32, int64, uint32, uint64} = uint64",
  { index: " = int32" },
);

/** Indices drawn with the probabilities of the rows of logits: `logits`, `samples`. */
export const INDICES: Draw = defineDrawn({
  seeded: defineOp({
    name: "StatelessMultinomial",
    inputs: ["logits: T", "num_samples: int32", "seed: Tseed"],
    outputs: ["output: output_dtype"],
    attrs: ["T: real", "Tseed: index = int64", "output_dtype: index = int64"],
    hostInputs: ["num_samples"],
    infer: ([{ shape }, samples]) => {
      if (shape && shape.length !== 2) {
        throw new ValueError(`logits should be a matrix, got rank ${shape.length}`);
      }
      return [[shape?.[0] ?? null, knownInts(samples)?.[0] ?? null]];
    },
    grad: null,
    meaning: { kind: "rows", program: "multinomial" },
    cpu: ([logits, , seed], [out]) => multinomialCpu(logits, seed, out),
  }),
  key: 2,
}, {
  name: "Multinomial",
  inputs: ["logits: T", "num_samples: int32"],
  outputs: ["output: output_dtype"],
  attrs: ["T: real", "output_dtype: index = int64"],
}, ["output_dtype"]);

/**
 * Numbers with a gamma distribution of rate 1: `shape`, `alpha`. The stateful op appends the shape of `alpha` to the
 * given one.
 */
export const GAMMA: Draw = {
  seeded: defineOp({
    name: "StatelessRandomGammaV2",
    inputs: ["shape: T", "seed: Tseed", "alpha: dtype"],
    outputs: ["output: dtype"],
    attrs: ["dtype: {float16, float32, float64}", ...SEEDED],
    hostInputs: ["shape"],
    infer: ([shape, seed]) => [drawnShape(shape, seed)],
    grad: null,
    cpu: ([, seed, alpha], [out]) => gammaCpu(alpha, seed, out),
  }),
  drawn: defineOp({
    name: "RandomGamma",
    inputs: ["shape: S", "alpha: T"],
    outputs: ["output: T"],
    attrs: ["seed: int64 = 0", "seed2: int64 = 0", "S: index", "T: {float16, float32, float64}"],
    hostInputs: ["shape"],
    infer: ([shape, alpha]) => {
      const front = shapeFromHost(shape);
      return [front && alpha.shape && [...front, ...alpha.shape]];
    },
    grad: null,
    stateful: true,
    cpu: ([, alpha], [out], { attrs }) => gammaCpu(alpha, nextSeed(attrs), out),
  }),
  key: 1,
};

/** Draws by the op that the source requires. */
export function draw(
  { seeded, drawn, key }: Draw,
  source: SeedSource,
  inputs: readonly OpInput[],
  attrs: Attrs = {},
): Tensor {
  return "key" in source
    ? apply1(seeded, inputs.toSpliced(key, 0, source.key), attrs)
    : apply1(drawn, inputs, { ...attrs, ...source.attrs });
}
