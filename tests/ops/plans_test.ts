/**
 * The kernels' requirements of an adapter, checked as data without one: no plan may exceed its limits, and every
 * variant must be used.
 */
// Runs alone: it counts the variants of all registered ops, and other tests register their own.

import { assertEquals } from "@std/assert";
import "@weft/weft";
import type { BufferRef, Dispatch, GpuPlan, Profile } from "../../src/engine/core/dispatch.ts";
import { GPU_DTYPES, gpuBytes } from "../../src/engine/core/gpu_storage.ts";
import { runnableVariants } from "../../src/engine/kernels/pointwise/half.ts";
import { lookupOp, type OpDef, type Problem, registeredOps } from "../../src/engine/core/op.ts";
import { sizeOf } from "../../src/engine/core/shape.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
// Brings the kernels, whether there is an adapter or not.
import "./gpu_kernels.ts";
import { dtypesOf } from "../../src/library/testing/op_case.ts";
import { drawInputs } from "../../src/library/testing/op_sample.ts";
import { isStatic, problemOf } from "../../src/library/testing/run_op.ts";
import { FAMILIES, WITHOUT_SAMPLES } from "../op_samples/mod.ts";

/** Features of every adapter. */
const LEAST: Profile = {
  barriers: true,
  subgroup: 0,
  subgroupDirective: false,
  lanes: 8,
  f16: true,
  words64: false,
  maxBinding: 128 * 2 ** 20,
  maxBuffers: 8,
  maxInvocations: 256,
  maxWorkgroupBytes: 16384,
  maxGrid: 65535,
};
const MORE: Profile = {
  ...LEAST,
  maxBuffers: 10,
  maxInvocations: 1024,
  maxWorkgroupBytes: 49152,
};

const FORMS: Readonly<Record<string, Partial<Profile>>> = {
  gpu: { barriers: true },
  "gpu without f16": { barriers: true, f16: false },
  "gpu, subgroups of 32": { barriers: true, subgroup: 32, subgroupDirective: true },
  "no barriers, 8 lanes": { barriers: false },
  "no barriers, 4 lanes": { barriers: false, lanes: 4 },
  "no barriers, subgroups of 8": { barriers: false, subgroup: 8 },
  "no barriers, 64-bit words": { barriers: false, subgroup: 8, words64: true },
};
const LIMITS: Readonly<Record<string, Profile>> = {
  "the least limits": LEAST,
  "larger limits": MORE,
  "small bindings": { ...LEAST, maxBinding: 2048 },
  "small grids": { ...LEAST, maxGrid: 60 },
};
const PROFILES: readonly (readonly [string, Profile])[] = Object.entries(FORMS).flatMap(
  ([form, own]) =>
    Object.entries(LIMITS).map(([limits, p]) => [`${form}, ${limits}`, { ...p, ...own }] as const),
);
/** WebGPU's least for the third axis of workgroups; the others may have all invocations. */
const MAX_DEPTH = 64;
const MAX_PARAMS = 64;
/** Alignment of bound parts, in bytes; buffers have room up to there. */
const ALIGN = 256;

/** A problem of an op. */
interface Posed {
  readonly def: OpDef;
  readonly problem: Problem;
}

let posed: readonly Posed[] | undefined;

/** Every problem that the samples pose to a GPU, drawn once for all tests. */
function problems(): readonly Posed[] {
  return posed ??= [...drawProblems()];
}

function* drawProblems(): Generator<Posed> {
  const dtypes = new Set<string>(GPU_DTYPES);
  for (const table of Object.values(FAMILIES)) {
    for (const [name, samples] of Object.entries(table)) {
      const def = lookupOp(name)!;
      if (gpuVariants(def).length === 0) continue;
      for (const sample of samples) {
        for (const dtype of dtypesOf(def, sample)) {
          const problem = problemOf(def, drawInputs(sample, dtype), sample.attrs ?? {});
          const bound = problem.inputs.filter((_, i) => problem.hosts[i] === undefined);
          if (!isStatic(problem)) continue;
          if (![...bound, ...problem.outputs].every((s) => dtypes.has(s.dtype))) continue;
          yield { def, problem };
        }
      }
    }
  }
}

function bytesOf(ref: BufferRef, plan: GpuPlan, problem: Problem): number {
  if ("temp" in ref) return plan.temps![ref.temp];
  const spec = "input" in ref ? problem.inputs[ref.input] : problem.outputs[ref.output];
  return Math.max(4, Math.ceil(sizeOf(spec.shape) * gpuBytes(spec.dtype) / 4) * 4);
}

function nameOf(ref: BufferRef): string {
  return "input" in ref
    ? `input ${ref.input}`
    : "output" in ref
    ? `output ${ref.output}`
    : `temporary ${ref.temp}`;
}

/** Properties of a kernel that its text tells. */
interface Facts {
  readonly asksForHalf: boolean;
  /** Invocations along each axis of a workgroup. */
  readonly workgroup: readonly number[];
  readonly workgroupBytes: number;
  /** A line that computes a value by branches. */
  readonly branches: string | undefined;
}

const facts = new Map<string, Facts>();

/** Reads a text once: the plans of one variant, under all limits, have the same few. */
function factsOf(source: string): Facts {
  let known = facts.get(source);
  if (known === undefined) {
    const [, x, y = "1", z = "1"] = /@workgroup_size\((\d+)(?:, (\d+))?(?:, (\d+))?\)/.exec(
      source,
    )!;
    known = {
      asksForHalf: /\bf16\b/.test(source),
      workgroup: [+x, +y, +z],
      workgroupBytes: workgroupBytes(source),
      branches: source.split("\n").find((text) =>
        /&&|\|\|/.test(text) && !/\b(if|for|while)\b/.test(text)
      ),
    };
    facts.set(source, known);
  }
  return known;
}

/** Bytes of workgroup memory that a source declares. */
function workgroupBytes(source: string): number {
  let bytes = 0;
  for (const [, type] of source.matchAll(/var<workgroup>\s*\w+\s*:\s*([^;]+);/g)) {
    const [, element, count = "1"] = /^(?:array<(.+?), *(\d+)u?>|.+)$/.exec(type)!;
    const [, lanes = "1", scalar] = /^(?:vec(\d)<)?(\w+)/.exec(element ?? type)!;
    const wide = lanes === "3" ? 4 : Number(lanes);
    bytes += wide * (scalar === "f16" ? 2 : 4) * Number(count);
  }
  return bytes;
}

/** Yields a dispatch's requirements beyond the adapter's guarantees. */
function* excesses(
  { program, buffers, grid, params }: Dispatch,
  plan: GpuPlan,
  problem: Problem,
  profile: Profile,
): Generator<string> {
  const { bindings, source } = program;
  if (bindings.length !== buffers.length) yield `${buffers.length} buffers, wants ${bindings}`;
  if (buffers.length > profile.maxBuffers) yield `${buffers.length} buffers`;
  if (params.length > MAX_PARAMS) yield `${params.length} parameters`;
  if (grid.some((n) => n < 1 || n > profile.maxGrid)) yield `a grid of [${grid}]`;
  const { workgroup: [x, y, z], workgroupBytes: shared } = factsOf(source);
  if (x * y * z > profile.maxInvocations || z > MAX_DEPTH) yield `workgroups of ${x}x${y}x${z}`;
  if (shared > profile.maxWorkgroupBytes) yield `${shared} bytes of workgroup memory`;
  for (const [k, ref] of buffers.entries()) {
    const all = bytesOf(ref, plan, problem), { offset = 0 } = ref;
    const bytes = ref.size ?? all - offset;
    const name = nameOf(ref);
    if (bytes > profile.maxBinding) yield `${bytes} bytes of ${name}`;
    if (offset % ALIGN !== 0 || bytes % 4 !== 0 || bytes <= 0) {
      yield `${bytes} bytes at ${offset} of ${name}`;
    }
    if (offset + bytes > Math.ceil(all / ALIGN) * ALIGN) yield `${name} beyond its end`;
    const twice = buffers.findIndex((other, i) => i < k && nameOf(other) === name);
    if (twice >= 0 && (bindings[k] !== "read" || bindings[twice] !== "read")) {
      yield `${name} bound twice and written`;
    }
  }
}

Deno.test("no plan asks for more than the adapter it is made for has", () => {
  const wrong = new Map<string, string>();
  for (const { def, problem } of problems()) {
    for (const [limits, profile] of PROFILES) {
      for (const variant of runnableVariants(gpuVariants(def), problem, profile)) {
        if (variant.fits && !variant.fits(problem, profile)) continue;
        const plan = variant.plan(problem, profile);
        if (!profile.f16 && plan.dispatches.some((d) => factsOf(d.program.source).asksForHalf)) {
          wrong.set(`${def.name} "${variant.name}" under ${limits}`, "asks for f16");
        }
        for (const dispatch of plan.dispatches) {
          for (const text of excesses(dispatch, plan, problem, profile)) {
            const inputs = problem.inputs.map((s) => `${s.dtype}[${s.shape}]`).join(" ");
            wrong.set(
              `${def.name} "${variant.name}" under ${limits}`,
              `${dispatch.program.name} asks for ${text}, inputs ${inputs}`,
            );
          }
        }
      }
    }
  }
  assertEquals([...wrong].map(([where, text]) => `${where}: ${text}`).slice(0, 20), []);
});

Deno.test("no value in a kernel is computed by branches", () => {
  // SwiftShader compiles a row of them, in a loop, in exponential time and memory.
  const wrong = new Map<string, string>();
  for (const { def, problem } of problems()) {
    for (const [, profile] of PROFILES) {
      for (const variant of gpuVariants(def)) {
        if (variant.fits && !variant.fits(problem, profile)) continue;
        for (const { program } of variant.plan(problem, profile).dispatches) {
          const line = factsOf(program.source).branches;
          if (line !== undefined) wrong.set(`${def.name} "${variant.name}"`, line);
        }
      }
    }
  }
  assertEquals([...wrong], []);
});

Deno.test("every variant of every op is chosen for some sample on some adapter", () => {
  const chosen = new Set<string>();
  const able = new Set<string>();
  for (const { def, problem } of problems()) {
    for (const [, profile] of PROFILES) {
      const fitting = runnableVariants(gpuVariants(def), problem, profile)
        .filter((v) => v.fits?.(problem, profile) ?? true);
      fitting.forEach((v, i) => (i === 0 ? chosen : able).add(`${def.name} "${v.name}"`));
    }
  }
  const all = registeredOps().filter((def) => !(def.name in WITHOUT_SAMPLES)).flatMap((def) =>
    gpuVariants(def).map((v) => `${def.name} "${v.name}"`)
  );
  assertEquals(all.filter((name) => !chosen.has(name)), []);
});
