/**
 * float16 where WGSL or a kernel has no f16: tensors keep their two bytes an element, seen as halves of words, and the
 * kernel runs on float32 copies of them. Each result still rounds once.
 */
import type {
  BufferRange,
  BufferRef,
  Dispatch,
  GpuPlan,
  GpuVariant,
  Profile,
} from "../../core/dispatch.ts";
import type { Problem } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import { shaderProgram } from "../../core/shader.ts";
import { POINTWISE_HALF, SCALAR_WGSL } from "../../../shaders_generated.ts";
import { ALIGN, planPieces } from "../copy/pieces.ts";
import { hasComplex } from "./complex_problem.ts";
import { hasHalf, inFloat32 } from "./half_problem.ts";

/** Returns the variants of an op that this adapter can run on a problem. */
export function runnableVariants(
  variants: readonly GpuVariant[],
  problem: Problem,
  profile: Profile,
): readonly GpuVariant[] {
  const isComplex = hasComplex(problem);
  const able = variants.filter(({ complex }) => isComplex ? complex : complex !== "only");
  if (profile.f16 || !hasHalf(problem)) return able;
  return able.filter((v) => !v.exactDtype).map(throughFloat32);
}

/** Wraps a variant so that float16 tensors are copied to float32. */
export function throughFloat32(variant: GpuVariant): GpuVariant {
  const { fits, plan } = variant;
  return {
    ...variant,
    fits: (problem, profile) => fits?.(inFloat32(problem), profile) ?? true,
    plan: (problem, profile) => aroundFloat32(plan(inFloat32(problem), profile), problem, profile),
  };
}

/** Surrounds a plan by the dispatches that unpack its inputs and pack its outputs. */
function aroundFloat32(plan: GpuPlan, { inputs, outputs }: Problem, profile: Profile): GpuPlan {
  const temps = [...(plan.temps ?? [])];
  const before: Dispatch[] = [], after: Dispatch[] = [];
  const copies = new Map<string, number>();
  const copyOf = (spec: ConcreteSpec, own: BufferRef): number => {
    const key = JSON.stringify(own);
    let temp = copies.get(key);
    if (temp === undefined) {
      const words = Math.ceil(sizeOf(spec.shape) / 2);
      copies.set(key, temp = temps.push(8 * Math.max(words, 2)) - 1);
      if ("input" in own) before.push(...convert("unpack", words, own, { temp }, profile));
      else after.push(...convert("pack", words, { temp }, own, profile));
    }
    return temp;
  };
  const rename = (ref: BufferRef): BufferRef => {
    if ("temp" in ref) return ref;
    const spec = "input" in ref ? inputs[ref.input] : outputs[ref.output];
    if (spec.dtype !== "float16") return ref;
    const { input, output, ...range } = ref as BufferRange & { input?: number; output?: number };
    const whole = input === undefined ? { output: output! } : { input };
    return { ...range, temp: copyOf(spec, whole) };
  };
  const dispatches = plan.dispatches.map((d) => ({ ...d, buffers: d.buffers.map(rename) }));
  return { dispatches: [...before, ...dispatches, ...after], temps };
}

/** Converts words of two halves to pairs of floats, or back. */
function convert(
  way: "pack" | "unpack",
  words: number,
  from: BufferRef,
  to: BufferRef,
  profile: Profile,
): readonly Dispatch[] {
  // Halves of pieces begin at aligned offsets too.
  const maxBinding = profile.maxBinding - profile.maxBinding % (2 * ALIGN);
  const pack = way === "pack";
  const program = shaderProgram(POINTWISE_HALF, {
    pack,
    helper: wgslFunctions(SCALAR_WGSL, [pack ? "halfbits_" : "halfvalue_"]),
  }, { name: `${way}_half` });
  return planPieces(program, [words, 8], { ...profile, maxBinding }, ({ first, count, range }) => {
    const packed = range.size === undefined ? {} : { offset: first * 4, size: count * 4 };
    const [source, target] = pack ? [range, packed] : [packed, range];
    return { buffers: [{ ...from, ...source }, { ...to, ...target }], params: [count] };
  }).dispatches;
}
