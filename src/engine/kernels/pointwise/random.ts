/** Random numbers on the GPU: the same bits as on the host, two elements for each counter. */
import type { Distribution } from "../../core/meaning.ts";
import type { GpuPlan, GpuVariant, Profile } from "../../core/dispatch.ts";
import { gpuBytes, vec, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import type { Problem } from "../../core/op.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import { bindsWhole, planPieces } from "../copy/pieces.ts";
import { flatPlan } from "../dispatches.ts";
import { RANDOM_MULTINOMIAL, RANDOM_PAIRS, RANDOM_WGSL } from "../../../shaders_generated.ts";
import { uniformBits } from "../host/random.ts";

const THREEFRY = wgslFunctions(RANDOM_WGSL, ["threefry"]);

function uniform(bits: number): string {
  return `fn draw(w: vec2<u32>) -> vec2<f32> { return vec2<f32>(w >> vec2<u32>(${
    32 - bits
  }u)) * 0x1p-${bits}; }`;
}

/** Returns `draw` as a function of the library. */
function drawing(name: string): string {
  return `${wgslFunctions(RANDOM_WGSL, [name])}
fn draw(w: vec2<u32>) -> vec2<f32> { return ${name}(w); }`;
}

/** The variant of draws whose key is input 1: of a distribution, or of whole numbers between inputs 2 and 3. */
export function drawVariant(how: Distribution | "integers"): GpuVariant {
  const fits: GpuVariant["fits"] = ({ inputs }) => inputs[1].dtype === "int32";
  if (how !== "integers") {
    return {
      name: "pairs",
      // Numbers have as many bits as the dtype: more would round up to 1.
      exactDtype: true,
      fits,
      plan: ({ outputs: [out] }, profile) => drawGpu(out, 1, how, profile),
    };
  }
  return {
    name: "pairs",
    fits,
    plan: ({ outputs: [out], hosts }, profile) => {
      const { low, range } = bounds(hosts);
      return drawIntsGpu(out, 1, low, range, profile);
    },
  };
}

/** Returns the least whole number and the count of them; without bounds, the full range of the dtype. */
function bounds([, , low, high]: Problem["hosts"]): { low: number; range: number } {
  if (low === undefined) return { low: 0, range: 0 };
  const min = Number(low.item());
  return { low: min, range: (Number(high!.item()) - min) >>> 0 };
}

/** Plans a fill with numbers drawn from `distribution`; the key is in input `seed`. */
function drawGpu(
  out: ConcreteSpec,
  seed: number,
  distribution: Distribution,
  profile: Profile,
): GpuPlan {
  const helper = distribution === "uniform"
    ? uniform(uniformBits(out.dtype))
    : drawing(distribution === "normal" ? "normalpair" : "truncatedpair");
  return pairs(`random_${distribution}`, helper, "f32", out, seed, [], profile);
}

/** Plans a fill with integers in `[low, low + range)`; of full range where `range` is 0. */
function drawIntsGpu(
  out: ConcreteSpec,
  seed: number,
  low: number,
  range: number,
  profile: Profile,
): GpuPlan {
  const type = wgslType(out.dtype);
  const drawn = range === 0 ? "w" : "w % vec2<u32>(p.range) + vec2<u32>(p.low)";
  const helper = `fn draw(w: vec2<u32>) -> vec2<${type}> { return ${
    type === "u32" ? drawn : `bitcast<vec2<${type}>>(${drawn})`
  }; }`;
  return pairs("random_int", helper, type, out, seed, [low >>> 0, range >>> 0], profile);
}

function pairs(
  name: string,
  helper: string,
  drawn: string,
  out: ConcreteSpec,
  seed: number,
  params: readonly number[],
  profile: Profile,
): GpuPlan {
  const size = sizeOf(out.shape), wide = size % 4 === 0, type = wgslType(out.dtype);
  const program = shaderProgram(RANDOM_PAIRS, {
    stored: vec(type, wide ? 4 : 1),
    wide,
    converted: type !== drawn,
    ranged: params.length > 0,
    threefry: THREEFRY,
    draw: helper,
  }, { name });
  return planPieces(program, [size, gpuBytes(out.dtype)], profile, ({ first, count, range }) => ({
    buffers: [{ input: seed }, { output: 0, ...range }],
    params: [wide ? count / 4 : Math.ceil(count / 2), first / 2, count, ...params],
  }));
}

/** Kernel of draws of indices: inputs are logits, samples (host) and key. */
export const multinomialVariants: readonly GpuVariant[] = [{
  name: "scan",
  fits: (problem, profile) =>
    problem.inputs[2].dtype === "int32" && problem.outputs[0].dtype === "int32" &&
    bindsWhole(problem, profile),
  plan: ({ inputs, outputs: [out] }, profile) => multinomialGpu(inputs[0], out, 2, profile),
}];

/** Plans draws of indices for each row of logits, with the probabilities of a softmax; logits are input 0. */
function multinomialGpu(
  logits: ConcreteSpec,
  out: ConcreteSpec,
  seed: number,
  profile: Profile,
): GpuPlan {
  const own = { element: wgslType(logits.dtype), threefry: THREEFRY };
  return flatPlan({
    program: shaderProgram(RANDOM_MULTINOMIAL, own, { name: "multinomial" }),
    buffers: [{ input: 0 }, { input: seed }, { output: 0 }],
    params: [sizeOf(out.shape), logits.shape[1], out.shape[1]],
  }, profile);
}
