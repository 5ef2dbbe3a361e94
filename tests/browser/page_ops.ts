/**
 * Every kernel of every op, in a browser: compiled by Tint, then run and compared with the CPU.
 *
 * It does the part of opCheck that says something new there. Software adapters take a second to compile a
 * large kernel with barriers: there tests/ops/random_shapes_test.ts runs each of them, once. Tint reads every
 * kernel, whatever is tried; as a rule those of some ops are run.
 */

import { assertEquals } from "@std/assert";
import { type DType, type NdArray, setBackend } from "@weft/weft";
import type { Program } from "../../src/engine/core/dispatch.ts";
import { DTYPES } from "../../src/engine/core/dtype.ts";
import { lookupOp, type OpDef } from "../../src/engine/core/op.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { cpuDevice, gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { dtypesOf } from "../../src/library/testing/op_case.ts";
import { drawInputs, type OpSample } from "../../src/library/testing/op_sample.ts";
import {
  forcedPlans,
  isStatic,
  problemOf,
  runEagerly,
  runPlan,
} from "../../src/library/testing/run_op.ts";
import { HAS_WEBGPU } from "../devices.ts";
import { some } from "../effort.ts";
import { FAMILIES } from "../op_samples/mod.ts";

/** Units in the last place: as in opCheck, twice for functions that WGSL leaves loose. */
const ULPS: Partial<Record<DType, number>> = { float32: 256, complex64: 256, float16: 16 };

/** Characters of WGSL above which a kernel with barriers is not run by software. */
const LARGE = 6000;

const OPS = Object.values(FAMILIES).flatMap((table) => Object.entries(table));

/** Ops whose kernels are run. */
const RUN: ReadonlySet<string> = new Set(some(OPS.map(([name]) => name), 25));

const compiled = new Map<Program, Promise<string>>();

/** Returns Tint's messages on a program; empty for a correct one. */
function compile(gpu: WebGpuDevice, program: Program): Promise<string> {
  let messages = compiled.get(program);
  if (messages === undefined) {
    const module = gpu.gpu.createShaderModule({ code: program.source });
    messages = module.getCompilationInfo().then((info) =>
      info.messages.map((m) => `${program.name}:${m.lineNum} ${m.type}: ${m.message}`).join("\n")
    );
    compiled.set(program, messages);
  }
  return messages;
}

function isHeavy(gpu: WebGpuDevice, program: Program): boolean {
  return gpu.software && program.source.length > LARGE &&
    program.source.includes("workgroupBarrier");
}

/** Checks one sample in one dtype; returns what is wrong. */
async function checkSample(
  def: OpDef,
  sample: OpSample,
  dtype: DType,
  gpu: WebGpuDevice,
): Promise<string[]> {
  const inputs = drawInputs(sample, dtype);
  const attrs = sample.attrs ?? {};
  const problem = problemOf(def, inputs, attrs);
  const free = problem.inputs.filter((_, i) => problem.hosts[i] === undefined);
  if (![...free, ...problem.outputs].every((s) => gpu.supports(s.dtype))) return [];
  const wanted = await runEagerly(def, inputs, attrs, cpuDevice());
  const wrong: string[] = [];
  const compare = (where: string, outputs: readonly NdArray[]) => {
    if (def.stateful) return;
    for (const [k, output] of outputs.entries()) {
      const ulps = Math.max(sample.ulps ?? 0, sample.gpuUlps ?? 0, ULPS[output.dtype] ?? 16);
      const tolerance = { ulps, ulpsOfLargest: ulps / 4, absolute: sample.gpuAbsolute ?? 1e-6 };
      const text = difference(output, wanted[k], output.dtype, tolerance);
      if (text !== null) wrong.push(`${where}: output ${k} ${text}`);
    }
  };
  const variants = gpuVariants(def);
  if (variants.length > 0 && isStatic(problem)) {
    for (const { variant, profile, plan, maxGrid } of forcedPlans(variants, problem, gpu.profile)) {
      const where = `variant "${variant}" (${profile})`;
      const programs = plan.dispatches.map((d) => d.program);
      const messages = (await Promise.all(programs.map((p) => compile(gpu, p)))).filter((m) => m);
      wrong.push(...messages.map((m) => `${where}: ${m}`));
      if (messages.length > 0 || !RUN.has(def.name) || programs.some((p) => isHeavy(gpu, p))) {
        continue;
      }
      compare(where, await runPlan(gpu, { variant, profile, plan, maxGrid }, inputs, problem));
    }
  }
  // Others go through the host, which eager code in browsers cannot.
  if (
    isStatic(problem) && RUN.has(def.name) &&
    (def.expand || variants.some((v) => v.fits?.(problem, gpu.profile) ?? true))
  ) {
    compare("eagerly", await runEagerly(def, inputs, attrs, gpu));
  }
  return wrong;
}

for (const [name, samples] of OPS) {
  Deno.test({
    name: `the kernels of ${name} compile on Tint and agree with the CPU [webgpu]`,
    ignore: !HAS_WEBGPU,
    async fn() {
      await setBackend("webgpu");
      await setBackend("cpu");
      const gpu = gpuDevice() as WebGpuDevice;
      const def = lookupOp(name)!;
      const wrong: string[] = [];
      for (const [k, sample] of samples.entries()) {
        const dtypes = dtypesOf(def, sample).filter((d) => gpu.supports(d) && d in DTYPES);
        for (const dtype of k === 0 ? dtypes : dtypes.slice(0, 1)) {
          const texts = await checkSample(def, sample, dtype, gpu);
          wrong.push(...texts.map((text) => `sample ${k}, ${dtype}, ${text}`));
        }
      }
      assertEquals(wrong.slice(0, 8), []);
    },
  });
}
