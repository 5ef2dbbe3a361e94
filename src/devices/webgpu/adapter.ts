/**
 * Finds an adapter, asks for its maximum limits, and measures what kernels may rely on.
 * May import core.
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
  const requiredFeatures: GPUFeatureName[] = [];
  for (const f of ["shader-f16", "timestamp-query", "subgroups"] as GPUFeatureName[]) {
    if (adapter.features.has(f)) requiredFeatures.push(f);
  }
  const requiredLimits: Record<string, number> = {};
  for (const l of LIMITS) requiredLimits[l] = adapter.limits[l];
  const device = await adapter.requestDevice({ requiredFeatures, requiredLimits });
  const info = adapter.info;
  const description = [info?.vendor, info?.architecture, info?.device, info?.description].filter((
    t,
  ) => t).join(" ");
  const fallback = (info as { isFallbackAdapter?: boolean }).isFallbackAdapter ?? false;
  const software = fallback || /llvmpipe|swiftshader/i.test(description);
  const limits = device.limits;
  const profile: Profile = {
    family: software ? "software" : "gpu",
    subgroup: 0,
    subgroupDirective: false,
    lanes: /swiftshader/i.test(description) ? 4 : 8,
    f16: device.features.has("shader-f16"),
    maxBinding: limits.maxStorageBufferBindingSize,
    maxBuffers: limits.maxStorageBuffersPerShaderStage,
    maxInvocations: limits.maxComputeInvocationsPerWorkgroup,
    maxWorkgroupBytes: limits.maxComputeWorkgroupStorageSize,
    maxGrid: limits.maxComputeWorkgroupsPerDimension,
  };
  return { device, profile, description, software };
}
