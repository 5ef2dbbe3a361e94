/**
 * Random numbers on the GPU: the same bits as on the host, two elements for each counter.
 */
import type { Distribution } from "../../core/meaning.ts";
import type { GpuPlan, Profile } from "../../core/dispatch.ts";
import { gpuBytes, vec, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { sizeOf } from "../../core/shape.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import { planPieces } from "../copy/pieces.ts";
import { flatPlan } from "../dispatches.ts";
import { RANDOM_MULTINOMIAL, RANDOM_PAIRS, RANDOM_WGSL } from "../../../shaders_generated.ts";
import { uniformBits } from "../host/random.ts";

const THREEFRY = wgslFunctions(RANDOM_WGSL, ["threefry"]);

function uniform(bits: number): string {
  return `fn draw(w: vec2<u32>) -> vec2<f32> { return vec2<f32>(w >> vec2<u32>(${
    32 - bits
  }u)) * 0x1p-${bits}; }`;
}

/** `draw` as a function of the library. */
function drawing(name: string): string {
  return `${wgslFunctions(RANDOM_WGSL, [name])}
fn draw(w: vec2<u32>) -> vec2<f32> { return ${name}(w); }`;
}

/** Fills the output with numbers drawn from `distribution`; the key is in input `seed`. */
export function drawGpu(
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

/** Fills the output with whole numbers in `[low, low + range)`; of full range where `range` is 0. */
export function drawIntsGpu(
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

/** For each row of logits, indices drawn with the probabilities softmax gives; logits are input 0. */
export function multinomialGpu(
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
