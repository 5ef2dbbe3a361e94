/**
 * Finds an adapter, asks for its maximum limits, and measures what kernels may rely on.
 */
import type { Profile } from "../../core/dispatch.ts";

/** A device with what is known of its adapter. */
export interface AdapterResult {
  /** The device. */
  readonly device: GPUDevice;
  /** What kernels may rely on. */
  readonly profile: Profile;
  /** Adapter text. */
  readonly description: string;
  /** True for emulation on the processor. */
  readonly software: boolean;
}

const LIMITS = [
  "maxStorageBufferBindingSize",
  "maxBufferSize",
  "maxStorageBuffersPerShaderStage",
  "maxComputeWorkgroupStorageSize",
  "maxComputeInvocationsPerWorkgroup",
  "maxComputeWorkgroupSizeX",
  "maxComputeWorkgroupSizeY",
  "maxComputeWorkgroupSizeZ",
  "maxComputeWorkgroupsPerDimension",
] as const;

/** Asks for a device with every feature we use; null where the runtime has no WebGPU or no adapter. */
export async function requestDevice(): Promise<AdapterResult | null> {
  const gpu = (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu;
  const adapter = await gpu?.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) return null;
  const requiredLimits: Record<string, number> = {};
  for (const l of LIMITS) requiredLimits[l] = adapter.limits[l];
  const info = adapter.info;
  const description = [info?.vendor, info?.architecture, info?.device, info?.description].filter((
    t,
  ) => t).join(" ");
  const fallback = (info as { isFallbackAdapter?: boolean }).isFallbackAdapter ?? false;
  const software = fallback || /llvmpipe|swiftshader/i.test(description);
  const device = await requestFeatures(adapter, requiredLimits, description);
  const limits = device.limits;
  const subgroups = await probeSubgroups(device, info);
  const profile: Profile = {
    family: software ? "software" : "gpu",
    subgroup: subgroups.size,
    subgroupDirective: subgroups.directive,
    lanes: software && subgroups.size > 0
      ? subgroups.size
      : /swiftshader/i.test(description)
      ? 4
      : 8,
    f16: device.features.has("shader-f16") && await compiles(device, HALF_PROBE),
    words64: device.features.has(WORDS64),
    maxBinding: limits.maxStorageBufferBindingSize,
    maxBuffers: limits.maxStorageBuffersPerShaderStage,
    maxInvocations: limits.maxComputeInvocationsPerWorkgroup,
    maxWorkgroupBytes: limits.maxComputeWorkgroupStorageSize,
    maxGrid: limits.maxComputeWorkgroupsPerDimension,
  };
  return { device, profile, description, software };
}

const SUBGROUPS = "subgroups" as GPUFeatureName;
/** Deno's name of 64-bit integers in WGSL. */
const WORDS64 = "wgpu-shader-int64" as GPUFeatureName;

/**
 * A device with the optional features we use. Deno has subgroups and 64-bit integers without listing them; the latter are for
 * llvmpipe, which loads lane by lane, 64 bits as fast as 32.
 */
async function requestFeatures(
  adapter: GPUAdapter,
  requiredLimits: Record<string, number>,
  description: string,
): Promise<GPUDevice> {
  const listed = (["shader-f16", "timestamp-query", SUBGROUPS] as GPUFeatureName[])
    .filter((f) => adapter.features.has(f));
  const sets = [listed];
  if ("Deno" in globalThis) {
    sets.unshift([...new Set([...listed, SUBGROUPS])]);
    if (/llvmpipe/i.test(description)) sets.unshift([...sets[0], WORDS64]);
  }
  for (const requiredFeatures of sets.slice(0, -1)) {
    try {
      return await adapter.requestDevice({ requiredFeatures, requiredLimits });
    } catch {
      // The adapter does not have them: it still gives a device without.
    }
  }
  return await adapter.requestDevice({ requiredFeatures: listed, requiredLimits });
}

const HALF_PROBE = `enable f16;
@group(0) @binding(0) var<storage, read> x: array<f16>;
@group(0) @binding(1) var<storage, read_write> out: array<vec4<f16>>;
@compute @workgroup_size(1)
fn main() { out[0] = vec4<f16>(vec4<f32>(f32(x[0]))); }`;

async function compiles(device: GPUDevice, code: string): Promise<boolean> {
  device.pushErrorScope("validation");
  device.createShaderModule({ code });
  return await device.popErrorScope() === null;
}

const SUBGROUP_PROBE = `@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(4)
fn main(@builtin(subgroup_invocation_id) lane: u32) {
  out[lane] = subgroupBroadcast(lane, 1u) + subgroupShuffle(lane, lane ^ 1u);
}`;

/** The width of all subgroups, and whether WGSL must ask for them; width 0 where they vary or do not compile. */
async function probeSubgroups(
  device: GPUDevice,
  { subgroupMinSize: least = 0, subgroupMaxSize: most = 0 }: {
    subgroupMinSize?: number;
    subgroupMaxSize?: number;
  },
): Promise<{ size: number; directive: boolean }> {
  if (least === most && least > 0 && device.features.has("subgroups" as GPUFeatureName)) {
    for (const directive of [true, false]) {
      const code = (directive ? "enable subgroups;\n" : "") + SUBGROUP_PROBE;
      if (await compiles(device, code)) return { size: least, directive };
    }
  }
  return { size: 0, directive: false };
}
