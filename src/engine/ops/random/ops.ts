/** Random ops: stateless ones, which are functions of a seed, and the stateful ones made of them. Those of real numbers stand here. */
import type { Distribution } from "../../core/meaning.ts";
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type Attrs, defineOp, type OpDef, type OpInit } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import { isConcrete, type PartialShape } from "../../core/shape.ts";
import { drawCpu } from "../../kernels/host/random.ts";
import { wantedShape } from "../array/fill_ops.ts";
import { concat } from "../array/join.ts";
import { literalInts, shape as shapeOf } from "../array/view.ts";
import { asTensor, intVector, shapeOfInput } from "../input.ts";
import { drawKey, type SeedSource } from "./state.ts";

const FLOATS = "{float16, bfloat16, float32, float64}";

/** Attributes of the shape and of the seed. */
export const SEEDED: readonly string[] = ["T: index = int32", "Tseed: index = int64"];

/** The shape that an op with a seed draws. Throws `ValueError` for a seed that is not two numbers. */
export function drawnShape(shape: Spec, seed: Spec): PartialShape {
  if (seed.shape && (seed.shape.length !== 1 || (seed.shape[0] ?? 2) !== 2)) {
    throw new ValueError(`seed must have shape [2], not [${seed.shape}]`);
  }
  return wantedShape(shape);
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
export function defineDrawn(
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

/** Returns the shape of draws for each element of a parameter, whose extents come last. */
export function dimsBefore(front: OpInput, parameter: OpInput): OpInput {
  const known = literalInts(front), end = shapeOfInput(parameter);
  return known && end && isConcrete(end)
    ? intVector([...known as number[], ...end])
    : concat([asTensor(front), shapeOf(asTensor(parameter))]);
}

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
