/** Kernels query the adapter's features, not its name. */

import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { requestDevice } from "../../../src/engine/devices/webgpu/adapter.ts";
import { findAdapter } from "../../../src/engine/devices/webgpu/open.ts";
import { testOnGpu } from "../../devices.ts";

/** An adapter's description of itself. */
interface Said {
  readonly info: Record<string, unknown>;
  /** Asked of adapters before it was known of their info. */
  readonly isFallbackAdapter?: boolean;
}

/** The profile on this machine's adapter where it says this of itself. */
async function profileWhere({ info, isFallbackAdapter }: Said): Promise<unknown[]> {
  const { gpu } = navigator;
  const requestAdapter = gpu.requestAdapter.bind(gpu);
  using _ = stub(gpu, "requestAdapter", async (options?: GPURequestAdapterOptions) => {
    const adapter = (await requestAdapter(options))!;
    Object.defineProperty(adapter, "info", { value: info });
    Object.defineProperty(adapter, "isFallbackAdapter", { value: isFallbackAdapter });
    return adapter;
  });
  const { device, profile: { barriers, lanes }, software } = await requestDevice(
    (await findAdapter())!,
  );
  device.destroy();
  return [barriers, lanes, software];
}

testOnGpu("an adapter's kernels are chosen by what it is and not by its name", async () => {
  const name = { description: "llvmpipe" }, width = { subgroupMinSize: 8, subgroupMaxSize: 8 };
  const fallback = { isFallbackAdapter: true };
  const cases: readonly (readonly [Said, readonly unknown[]])[] = [
    [{ info: { ...name, ...width, isFallbackAdapter: false } }, [true, 8, false]],
    [{ info: { description: "A card", ...width, ...fallback } }, [false, 8, true]],
    [{ info: { ...fallback, subgroupMinSize: 4, subgroupMaxSize: 4 } }, [false, 4, true]],
    // The standard's bounds where nothing is known, and nothing at all.
    [{ info: { ...fallback, subgroupMinSize: 4, subgroupMaxSize: 128 } }, [false, 4, true]],
    [{ info: {}, ...fallback }, [false, 4, true]],
  ];
  for (const [said, wanted] of cases) assertEquals(await profileWhere(said), wanted);
});
