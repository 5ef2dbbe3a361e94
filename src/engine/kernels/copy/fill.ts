/** Kernels of the GPU for elements that follow from their places: one value, a ramp, random draws. */
import type { GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { gpuBytes, wordType } from "../../core/gpu_storage.ts";
import type { MeaningOf } from "../../core/meaning.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { partsOf } from "../pointwise/complex_problem.ts";
import { drawVariant } from "../pointwise/random.ts";
import { rampVariants } from "./number.ts";
import { planPieces } from "./pieces.ts";
import { streamProgram, valueWord, wordOfParam } from "./stream.ts";

/** Plans a fill of the output with a constant (`value`), or with the element in input `from`. */
export function fillGpu(
  out: ConcreteSpec,
  profile: Profile,
  source: { readonly value: number } | { readonly from: number },
): GpuPlan {
  const size = sizeOf(out.shape), wide = size % 4 === 0 && partsOf(out.dtype) === 1;
  const word = wordType(out.dtype), literal = "value" in source;
  const value = literal ? wordOfParam(word, "p.value") : "in0[0]";
  const program = streamProgram({
    name: "fill",
    inputs: literal ? [] : [word],
    outputs: [wide ? `vec4<${word}>` : word],
    params: literal ? ["value"] : [],
    body: `out0[i] = ${wide ? `vec4<${word}>(${value})` : value};`,
  });
  return planPieces(program, [size, gpuBytes(out.dtype)], profile, ({ count, range }) => ({
    buffers: [...(literal ? [] : [{ input: source.from }]), { output: 0, ...range }],
    params: [wide ? count / 4 : count, ...(literal ? [valueWord(source.value, out.dtype)] : [])],
  }));
}

/** The variants of an op whose elements follow from their places. */
export function fillVariants(meaning: MeaningOf<"fill">): readonly GpuVariant[] {
  switch (meaning.how) {
    case "element":
      return [{
        name: "fill",
        complex: "too",
        plan: ({ outputs }, profile) => fillGpu(outputs[0], profile, { from: 1 }),
      }];
    case "number":
      return [{
        name: "fill",
        complex: "too",
        plan: ({ outputs, attrs }, profile) =>
          fillGpu(outputs[0], profile, { value: meaning.number(attrs) }),
      }];
    case "steps":
    case "spaced":
      return rampVariants(meaning.how);
    default:
      return [drawVariant(meaning.how)];
  }
}
