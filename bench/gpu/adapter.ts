// What the GPU is: names, limits, and features, each asked for alone, since Deno grants some that it does not list.

import { gpuDevice, hasGpu } from "./device.ts";
import type { Recorder } from "./record.ts";

/** Features that no adapter lists in Deno, or not by these names. */
const HIDDEN = [
  "shader-f64",
  "shader-i16",
  "subgroups",
  "subgroup-barrier",
  "mappable-primary-buffers",
  "timestamp-query-inside-encoders",
  "timestamp-query-inside-passes",
  "wgpu-shader-int64",
  "wgpu-shader-float32-atomic",
  "wgpu-cooperative-matrix",
  "chromium-experimental-subgroup-matrix",
] as const;

const GUARD = `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(32) fn main(@builtin(local_invocation_index) i: u32) {`;

/** Programs that use a feature of WGSL, and the feature that they need; where they compile it is there. */
const PROBES: Readonly<Record<string, readonly [feature: string | null, code: string]>> = {
  f16: ["shader-f16", `enable f16;\n${GUARD} out[i] = u32(f16(i) * 2.0h); }`],
  f64: ["shader-f64", `${GUARD} out[i] = u32(f64(i) * f64(2.0)); }`],
  i64: ["wgpu-shader-int64", `${GUARD} out[i] = u32(u64(i) * 2lu); }`],
  i16: ["shader-i16", `${GUARD} out[i] = u32(i16(i) * i16(2)); }`],
  "subgroups, enabled": ["subgroups", `enable subgroups;\n${GUARD} out[i] = subgroupAdd(i); }`],
  "subgroups, not enabled": ["subgroups", `${GUARD} out[i] = subgroupAdd(i); }`],
  dot4I8: [null, `${GUARD} out[i] = u32(dot4I8Packed(i, i + 1u)); }`],
  "override workgroup": [
    null,
    `override N = 32u; var<workgroup> w: array<u32, N>; ${GUARD} w[i] = i; workgroupBarrier(); out[i] = w[31u - i]; }`,
  ],
};

async function adapterNow(): Promise<GPUAdapter> {
  // An adapter gives one device: each question needs another.
  const adapter = await navigator.gpu.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null) throw new Error("Cannot find an adapter");
  return adapter;
}

/** Limits or facts as plain data. */
function plain(of: object): Record<string, unknown> {
  const names = new Set<string>();
  for (let o = of; o && o !== Object.prototype; o = Object.getPrototypeOf(o)) {
    for (const name of Object.getOwnPropertyNames(o)) names.add(name);
  }
  const values = [...names].map((name) => [name, (of as Record<string, unknown>)[name]] as const);
  return Object.fromEntries(
    values.filter(([, value]) => ["number", "string", "boolean"].includes(typeof value)),
  );
}

async function compiles(device: GPUDevice, code: string): Promise<true | string> {
  device.pushErrorScope("validation");
  const module = device.createShaderModule({ code });
  const compute = { module, entryPoint: "main" };
  device.createComputePipeline({ layout: "auto", compute });
  const error = await device.popErrorScope();
  return error === null ? true : error.message.replaceAll(/\s+/g, " ").slice(0, 300);
}

async function probe([feature, code]: readonly [string | null, string]): Promise<unknown> {
  const requiredFeatures = (feature === null ? [] : [feature]) as GPUFeatureName[];
  const device = await (await adapterNow()).requestDevice({ requiredFeatures });
  try {
    return await compiles(device, code);
  } finally {
    device.destroy();
  }
}

/** Returns the output of the vendor's own tool on NVIDIA's driver and clocks; rejects if there is none. */
async function vendorText(): Promise<string> {
  const fields =
    "name,driver_version,clocks.sm,clocks.max.sm,clocks.mem,power.draw,power.limit,temperature.gpu";
  const command = new Deno.Command("nvidia-smi", {
    args: [`--query-gpu=${fields}`, "--format=csv"],
  });
  return new TextDecoder().decode((await command.output()).stdout).trim();
}

/** Names the adapter and asks for each of its features. */
export async function adapterPart(record: Recorder): Promise<void> {
  const { description, vendor } = (await adapterNow()).info;
  await record.attempt("machine", () => ({
    adapter: description || vendor,
    date: new Date().toISOString().slice(0, 10),
    deno: Deno.version,
    os: `${Deno.build.os} ${Deno.osRelease()}`,
    processors: navigator.hardwareConcurrency,
    memory: Deno.systemMemoryInfo().total,
  }));
  await record.attempt("vendor", vendorText);
  await record.attempt("info", async () => plain((await adapterNow()).info));
  await record.attempt("limits", async () => plain((await adapterNow()).limits));
  await record.attempt("listed features", async () => [...(await adapterNow()).features].sort());
  await record.attempt("language", () => {
    const { wgslLanguageFeatures } = navigator.gpu as { wgslLanguageFeatures?: Iterable<string> };
    return [...wgslLanguageFeatures ?? []].sort();
  });
  await record.attempt("granted features", async () => {
    const granted: Record<string, true | string> = {};
    const listed = [...(await adapterNow()).features];
    for (const feature of new Set([...listed, ...HIDDEN])) {
      try {
        const adapter = await adapterNow();
        const device = await adapter.requestDevice({
          requiredFeatures: [feature as GPUFeatureName],
        });
        granted[feature] = true;
        device.destroy();
      } catch (error) {
        granted[feature] = String(error).split("\n")[0]!.slice(0, 120);
      }
    }
    return granted;
  });
  for (const [name, code] of Object.entries(PROBES)) {
    await record.attempt(`WGSL ${name}`, () => probe(code));
  }
  await record.attempt("profile", async () => {
    await hasGpu();
    return plain(gpuDevice().profile);
  });
}
