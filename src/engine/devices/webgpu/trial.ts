/** Trial runs of kernels on zeros, for the tuner. */
import type { Candidates, GpuPlan } from "../../core/dispatch.ts";
import type { PreparedKernel } from "../../core/device.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { Trial } from "./tuner.ts";
import type { WebGpuDevice } from "./webgpu_device.ts";

/** Begins trial runs; null where the end of a run cannot be awaited synchronously. */
export function trialOf(device: WebGpuDevice, { inputs, outputs }: Candidates): Trial | null {
  if (!device.canReadSync) return null;
  const words = (bytes: number): ConcreteSpec => ({
    dtype: "uint32",
    shape: [Math.ceil(bytes / 4)],
  });
  const kernels = new Map<GpuPlan, PreparedKernel>();
  const given = inputs.map((bytes) => device.upload(NdArray.zeros("uint32", words(bytes).shape)));
  return {
    run: (plan) => {
      let kernel = kernels.get(plan);
      if (kernel === undefined) {
        kernels.set(plan, kernel = device.prepareKernel("trial", plan, outputs.map(words)));
      }
      const results = kernel.run(given);
      device.readSync([{ buffer: results[0], spec: { dtype: "uint32", shape: [1] } }]);
      for (const buffer of results) device.free(buffer);
    },
    end: () => given.forEach((buffer) => device.free(buffer)),
  };
}
