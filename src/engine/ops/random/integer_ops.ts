/** Random ops that draw integers: between bounds, of all bits, and indices by their probabilities. */
import { InvalidArgumentError, ValueError } from "../../core/errors.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { drawIntsCpu, multinomialCpu } from "../../kernels/host/random.ts";
import { knownInts } from "../array/view.ts";
import { defineDrawn, type Draw, drawnShape } from "./ops.ts";

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
      if (shape?.[1] === 0) {
        throw new InvalidArgumentError("Cannot draw from no classes: logits have 0 columns");
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
