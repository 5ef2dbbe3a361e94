/**
 * Random ops: stateless ones, which are functions of a seed, and the stateful ones made of them.
 */
import type { Distribution } from "../../core/meaning.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { PartialShape } from "../../core/shape.ts";
import { drawCpu, drawIntsCpu, gammaCpu, multinomialCpu } from "../../kernels/host/random.ts";
import { bindsWhole } from "../../kernels/copy/pieces.ts";
import { onGpu } from "../../kernels/gpu_kernels.ts";
import { knownInts } from "../array/view.ts";
import { shapeFromHost } from "../array/fill_ops.ts";
import { drawKey, nextSeed, type SeedSource } from "./state.ts";

const FLOATS = "{float16, bfloat16, float32, float64}";

function drawnShape(shape: Spec, seed: Spec | undefined): PartialShape {
  if (seed?.shape && (seed.shape.length !== 1 || (seed.shape[0] ?? 2) !== 2)) {
    throw new ValueError(`seed must have shape [2], not [${seed.shape}]`);
  }
  return shapeFromHost(shape);
}

/** A stateless op over real numbers and the stateful one of the same distribution. */
function defineReal(
  stateless: string,
  stateful: string,
  distribution: Distribution,
): { seeded: OpDef; drawn: OpDef } {
  const seeded = defineOp({
    name: stateless,
    inputs: ["shape: T", "seed: Tseed"],
    outputs: ["output: dtype"],
    attrs: [`dtype: ${FLOATS} = float32`, "T: index = int32", "Tseed: index = int64"],
    hostInputs: ["shape"],
    infer: ([shape, seed]) => [drawnShape(shape, seed)],
    grad: null,
    meaning: { kind: "fill", how: distribution },
    cpu: ([, seed], [out]) => drawCpu(out, seed, distribution),
    gpu: onGpu(({ drawGpu }) => [{
      name: "pairs",
      // Numbers have as many bits as the dtype: more would round up to 1.
      exactDtype: true,
      fits: ({ inputs }) => inputs[1].dtype === "int32",
      plan: ({ outputs: [out] }, profile) => drawGpu(out, 1, distribution, profile),
    }]),
  });
  const drawn = defineOp({
    name: stateful,
    inputs: ["shape: T"],
    outputs: ["output: dtype"],
    attrs: ["seed: int = 0", "seed2: int = 0", `dtype: ${FLOATS}`, "T: index"],
    hostInputs: ["shape"],
    infer: ([shape]) => [shapeFromHost(shape)],
    grad: null,
    stateful: true,
    expand: ([shape], attrs) => [apply1(seeded, [shape, drawKey(attrs)], { dtype: attrs.dtype })],
  });
  return { seeded, drawn };
}

const UNIFORM = defineReal("StatelessRandomUniform", "RandomUniform", "uniform");
const NORMAL = defineReal("StatelessRandomNormal", "RandomStandardNormal", "normal");
const TRUNCATED = defineReal("StatelessTruncatedNormal", "TruncatedNormal", "truncated");

function bounds(
  low: NdArray | undefined,
  high: NdArray | undefined,
): { low: number; range: number } {
  const min = Number(low!.item());
  return { low: min, range: (Number(high!.item()) - min) >>> 0 };
}

function checkBounds(low: Spec, high: Spec): void {
  if (low.value && high.value && !(low.value.item() < high.value.item())) {
    throw new ValueError(`Need minval < maxval, got ${low.value.item()} >= ${high.value.item()}`);
  }
}

const StatelessRandomUniformInt = defineOp({
  name: "StatelessRandomUniformInt",
  inputs: ["shape: T", "seed: Tseed", "minval: dtype", "maxval: dtype"],
  outputs: ["output: dtype"],
  attrs: ["dtype: {int32, int64}", "T: index", "Tseed: index = int64"],
  hostInputs: ["shape", "minval", "maxval"],
  infer: ([shape, seed, low, high]) => {
    checkBounds(low, high);
    return [drawnShape(shape, seed)];
  },
  grad: null,
  meaning: { kind: "fill", how: "integers" },
  cpu: ([, seed, low, high], [out]) => drawIntsCpu(out, seed, low, high),
  gpu: onGpu(({ drawIntsGpu }) => [{
    name: "pairs",
    fits: ({ inputs }) => inputs[1].dtype === "int32",
    plan: ({ outputs: [out], hosts }, profile) => {
      const { low, range } = bounds(hosts[2], hosts[3]);
      return drawIntsGpu(out, 1, low, range, profile);
    },
  }]),
});

const StatelessRandomUniformFullInt = defineOp({
  name: "StatelessRandomUniformFullInt",
  inputs: ["shape: T", "seed: Tseed"],
  outputs: ["output: dtype"],
  attrs: [
    "dtype: {int32, int64, uint32, uint64} = uint64",
    "T: index = int32",
    "Tseed: index = int64",
  ],
  hostInputs: ["shape"],
  infer: ([shape, seed]) => [drawnShape(shape, seed)],
  grad: null,
  meaning: { kind: "fill", how: "integers" },
  cpu: ([, seed], [out]) => drawIntsCpu(out, seed),
  gpu: onGpu(({ drawIntsGpu }) => [{
    name: "pairs",
    fits: ({ inputs }) => inputs[1].dtype === "int32",
    plan: ({ outputs: [out] }, profile) => drawIntsGpu(out, 1, 0, 0, profile),
  }]),
});

const RandomUniformInt = defineOp({
  name: "RandomUniformInt",
  inputs: ["shape: T", "minval: Tout", "maxval: Tout"],
  outputs: ["output: Tout"],
  attrs: ["seed: int = 0", "seed2: int = 0", "Tout: {int32, int64}", "T: index"],
  hostInputs: ["shape", "minval", "maxval"],
  infer: ([shape, low, high]) => {
    checkBounds(low, high);
    return [shapeFromHost(shape)];
  },
  grad: null,
  stateful: true,
  expand: (
    [shape, low, high],
    attrs,
  ) => [apply1(StatelessRandomUniformInt, [shape, drawKey(attrs), low, high])],
});

function sampledShape(logits: Spec, samples: Spec): PartialShape {
  if (logits.shape && logits.shape.length !== 2) {
    throw new ValueError(`logits should be a matrix, got rank ${logits.shape.length}`);
  }
  return [logits.shape?.[0] ?? null, knownInts(samples)?.[0] ?? null];
}

const StatelessMultinomial = defineOp({
  name: "StatelessMultinomial",
  inputs: ["logits: T", "num_samples: int32", "seed: Tseed"],
  outputs: ["output: output_dtype"],
  attrs: ["T: real", "Tseed: index = int64", "output_dtype: index = int64"],
  hostInputs: ["num_samples"],
  infer: ([logits, samples]) => [sampledShape(logits, samples)],
  grad: null,
  meaning: { kind: "rows", program: "multinomial" },
  cpu: ([logits, , seed], [out]) => multinomialCpu(logits, seed, out),
  gpu: onGpu(({ multinomialGpu }) => [{
    name: "scan",
    fits: (problem, profile) =>
      problem.inputs[2].dtype === "int32" && problem.outputs[0].dtype === "int32" &&
      bindsWhole(problem, profile),
    plan: ({ inputs, outputs: [out] }, profile) => multinomialGpu(inputs[0], out, 2, profile),
  }]),
});

const Multinomial = defineOp({
  name: "Multinomial",
  inputs: ["logits: T", "num_samples: int32"],
  outputs: ["output: output_dtype"],
  attrs: ["seed: int = 0", "seed2: int = 0", "T: real", "output_dtype: index = int64"],
  hostInputs: ["num_samples"],
  infer: ([logits, samples]) => [sampledShape(logits, samples)],
  grad: null,
  stateful: true,
  expand: ([logits, samples], attrs) => [
    apply1(StatelessMultinomial, [logits, samples, drawKey(attrs)], {
      output_dtype: attrs.output_dtype,
    }),
  ],
});

const StatelessRandomGammaV2 = defineOp({
  name: "StatelessRandomGammaV2",
  inputs: ["shape: T", "seed: Tseed", "alpha: dtype"],
  outputs: ["output: dtype"],
  attrs: ["dtype: {float16, float32, float64}", "T: index = int32", "Tseed: index = int64"],
  hostInputs: ["shape"],
  infer: ([shape, seed]) => [drawnShape(shape, seed)],
  grad: null,
  cpu: ([, seed, alpha], [out]) => gammaCpu(alpha, seed, out),
});

const RandomGamma = defineOp({
  name: "RandomGamma",
  inputs: ["shape: S", "alpha: T"],
  outputs: ["output: T"],
  attrs: ["seed: int = 0", "seed2: int = 0", "S: index", "T: {float16, float32, float64}"],
  hostInputs: ["shape"],
  infer: ([shape, alpha]) => {
    const front = shapeFromHost(shape);
    return [front && alpha.shape && [...front, ...alpha.shape]];
  },
  grad: null,
  stateful: true,
  cpu: ([, alpha], [out], { attrs }) => gammaCpu(alpha, nextSeed(attrs), out),
});

/** Real numbers from a distribution, in `dtype`. */
export function drawReal(
  source: SeedSource,
  distribution: Distribution,
  shape: OpInput,
  attrs: Attrs,
): Tensor {
  const { seeded, drawn } = distribution === "uniform"
    ? UNIFORM
    : distribution === "normal"
    ? NORMAL
    : TRUNCATED;
  return "key" in source
    ? apply1(seeded, [shape, source.key], attrs)
    : apply1(drawn, [shape], { ...attrs, ...source.attrs });
}

/** Whole numbers in `[low, high)`. */
export function drawInts(source: SeedSource, shape: OpInput, low: OpInput, high: OpInput): Tensor {
  return "key" in source
    ? apply1(StatelessRandomUniformInt, [shape, source.key, low, high])
    : apply1(RandomUniformInt, [shape, low, high], source.attrs);
}

/** Raw bits: whole numbers of the dtype's full range. */
export function drawBits(key: OpInput, shape: OpInput, attrs: Attrs): Tensor {
  return apply1(StatelessRandomUniformFullInt, [shape, key], attrs);
}

/** Indices drawn with the probabilities of the rows of logits. */
export function drawIndices(
  source: SeedSource,
  logits: OpInput,
  samples: OpInput,
  attrs: Attrs,
): Tensor {
  return "key" in source
    ? apply1(StatelessMultinomial, [logits, samples, source.key], attrs)
    : apply1(Multinomial, [logits, samples], { ...attrs, ...source.attrs });
}

/** Numbers with a gamma distribution of rate 1. */
export function drawGamma(source: SeedSource, shape: OpInput, alpha: OpInput): Tensor {
  return "key" in source
    ? apply1(StatelessRandomGammaV2, [shape, source.key, alpha])
    : apply1(RandomGamma, [shape, alpha], source.attrs);
}
