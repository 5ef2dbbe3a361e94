/** Computes a node by itself, on the CPU, while a plan is made or laid out. */
import { expandFusion } from "../../ops/fused/fused.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { IrNode } from "../../graph/ir.ts";
import { cpuDevice } from "../devices/devices.ts";
import { executeOn } from "../eager/eager.ts";
import { isolated } from "../eager/isolated.ts";
import type { EagerTensor } from "../eager/tensor.ts";

/** Returns an ordinary op's results; null if it fails: a run then reports the error. */
export function computeNow(
  { def, attrs }: Pick<IrNode, "def" | "attrs">,
  inputs: readonly NdArray[],
): readonly NdArray[] | null {
  return isolated({}, () => {
    const owned: EagerTensor[] = [];
    try {
      const device = cpuDevice();
      owned.push(...executeOn(def, inputs, attrs, { device, expandFusion }) as EagerTensor[]);
      return owned.map((t) => t.ndarraySync());
    } catch {
      return null;
    } finally {
      for (const t of owned) t.dispose();
    }
  });
}
