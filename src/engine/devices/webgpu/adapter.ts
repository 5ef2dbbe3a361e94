/** Requests an adapter's maximum limits, and measures the features that kernels rely on. */
import type { Profile } from "../../core/dispatch.ts";

/** A device with the known features of its adapter. */
export interface AdapterResult {
  readonly device: GPUDevice;
  readonly profile: Profile;
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

/** Requests a device with every used feature. */
export async function requestDevice(adapter: GPUAdapter): Promise<AdapterResult> {
  const requiredLimits: Record<string, number> = {};
  for (const l of LIMITS) requiredLimits[l] = adapter.limits[l];
  const info = adapter.info;
  const description = [info?.vendor, info?.architecture, info?.device, info?.description].filter((
    t,
  ) => t).join(" ");
  // The adapter type "CPU" is reported by browsers' fallback and by Mesa alike.
  const software = isFallback(info) || isFallback(adapter);
  const device = await requestFeatures(adapter, requiredLimits, software);
  const limits = device.limits;
  const subgroups = await probeSubgroups(device, info);
  const profile: Profile = {
    barriers: !software,
    subgroup: subgroups.size,
    subgroupDirective: subgroups.directive,
    lanes: software ? lanesOf(info) : HARDWARE_LANES,
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

/** Reads a flag that is standard since 2025 on the adapter's info, before that on the adapter. */
function isFallback(of: object): boolean {
  return (of as { isFallbackAdapter?: boolean }).isFallbackAdapter ?? false;
}

/** The possible widths of subgroups; the standard's bounds where they are not reported. */
interface SubgroupWidths {
  readonly subgroupMinSize?: number;
  readonly subgroupMaxSize?: number;
}

/** Elements of vectors of 128 bits, which every processor has; wider ones show as the one width of subgroups. */
const LEAST_LANES = 4;
/** Lanes where kernels for processors are forced on a GPU: a part of any subgroup. */
const HARDWARE_LANES = 8;

function lanesOf(
  { subgroupMinSize: least = 0, subgroupMaxSize: most = 0 }: SubgroupWidths,
): number {
  return least === most && least > 0 ? least : LEAST_LANES;
}

const SUBGROUPS = "subgroups" as GPUFeatureName;
/** Deno's name of 64-bit integers in WGSL. */
const WORDS64 = "wgpu-shader-int64" as GPUFeatureName;

/**
 * Requests a device with the used optional features. Deno has subgroups and 64-bit integers without listing them; the
 * latter are for processors, which load lane by lane, 64 bits as fast as 32.
 */
async function requestFeatures(
  adapter: GPUAdapter,
  requiredLimits: Record<string, number>,
  software: boolean,
): Promise<GPUDevice> {
  const listed = (["shader-f16", "timestamp-query", SUBGROUPS] as GPUFeatureName[])
    .filter((f) => adapter.features.has(f));
  const sets = [listed];
  if ("Deno" in globalThis) {
    sets.unshift([...new Set([...listed, SUBGROUPS])]);
    if (software) sets.unshift([...sets[0], WORDS64]);
  }
  for (const requiredFeatures of sets.slice(0, -1)) {
    try {
      return await adapter.requestDevice({ requiredFeatures, requiredLimits });
    } catch {
      // The adapter lacks them: it still returns a device without.
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

/** Returns the width of all subgroups, and whether WGSL must enable them; width 0 where they vary or do not compile. */
async function probeSubgroups(
  device: GPUDevice,
  { subgroupMinSize: least = 0, subgroupMaxSize: most = 0 }: SubgroupWidths,
): Promise<{ size: number; directive: boolean }> {
  if (least === most && least > 0 && device.features.has("subgroups" as GPUFeatureName)) {
    for (const directive of [true, false]) {
      const code = (directive ? "enable subgroups;\n" : "") + SUBGROUP_PROBE;
      if (await compiles(device, code)) return { size: least, directive };
    }
  }
  return { size: 0, directive: false };
}
