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

/** The variant of draws whose key, or one for each row, is input 1: of a distribution, or of whole numbers between inputs 2 and 3. */
export function drawVariant(how: Distribution | "integers"): GpuVariant {
  const fits: GpuVariant["fits"] = (problem, profile) => {
    const [, { dtype, shape }] = problem.inputs;
    return dtype === "int32" && (shape.length === 1 || bindsWhole(problem, profile));
  };
  if (how !== "integers") {
    return {
      name: "pairs",
      // Numbers have as many bits as the dtype: more would round up to 1.
      exactDtype: true,
      fits,
      plan: (problem, profile) => drawGpu(problem, how, profile),
    };
  }
  return {
    name: "pairs",
    fits,
    plan: (problem, profile) => drawIntsGpu(problem, profile),
  };
}

/** Returns the least whole number and the count of them; without bounds, the full range of the dtype. */
function bounds([, , low, high]: Problem["hosts"]): { low: number; range: number } {
  if (low === undefined) return { low: 0, range: 0 };
  const min = Number(low.item());
  return { low: min, range: (Number(high!.item()) - min) >>> 0 };
}

/** Plans a fill with numbers drawn from `distribution`. */
function drawGpu(problem: Problem, distribution: Distribution, profile: Profile): GpuPlan {
  const helper = distribution === "uniform"
    ? uniform(uniformBits(problem.outputs[0].dtype))
    : drawing(distribution === "normal" ? "normalpair" : "truncatedpair");
  return pairs(problem, { name: `random_${distribution}`, helper, drawn: "f32" }, profile);
}

/** Plans a fill with integers of a range; of full range where that is 0. */
function drawIntsGpu(problem: Problem, profile: Profile): GpuPlan {
  const type = wgslType(problem.outputs[0].dtype), { low, range } = bounds(problem.hosts);
  const drawn = range === 0 ? "w" : "w % vec2<u32>(p.range) + vec2<u32>(p.low)";
  const helper = `fn draw(w: vec2<u32>) -> vec2<${type}> { return ${
    type === "u32" ? drawn : `bitcast<vec2<${type}>>(${drawn})`
  }; }`;
  const params = [low >>> 0, range >>> 0];
  return pairs(problem, { name: "random_int", helper, drawn: type, params }, profile);
}

/** The numbers of two words: `draw`, and the type of what it returns. */
interface Helper {
  readonly name: string;
  readonly helper: string;
  readonly drawn: string;
  /** The last words of the uniforms. */
  readonly params?: readonly number[];
}

function pairs(
  { inputs: [, seed], outputs: [out] }: Problem,
  { name, helper, drawn, params = [] }: Helper,
  profile: Profile,
): GpuPlan {
  const rowed = seed.shape.length > 1, rows = rowed ? seed.shape[0] : 1;
  const whole = sizeOf(out.shape), size = rows === 0 ? 0 : whole / rows;
  const wide = size % 4 === 0, type = wgslType(out.dtype);
  const program = shaderProgram(RANDOM_PAIRS, {
    stored: vec(type, wide ? 4 : 1),
    wide,
    converted: type !== drawn,
    rowed,
    ranged: params.length > 0,
    threefry: THREEFRY,
    draw: helper,
  }, { name });
  const eachOf = (numbers: number): number => wide ? numbers / 4 : Math.ceil(numbers / 2);
  if (rowed) {
    return flatPlan({
      program,
      buffers: [{ input: 1 }, { output: 0 }],
      params: [rows * eachOf(size), 0, size, eachOf(size), ...params],
    }, profile);
  }
  return planPieces(program, [whole, gpuBytes(out.dtype)], profile, ({ first, count, range }) => ({
    buffers: [{ input: 1 }, { output: 0, ...range }],
    params: [eachOf(count), first / 2, count, ...params],
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
