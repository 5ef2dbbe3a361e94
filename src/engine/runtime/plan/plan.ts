/** Plans: nodes placed on devices and ordered with one readback per host boundary. `make_plan.ts` makes them. */
import type { Device } from "../../core/device.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Attrs } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { IrNode } from "../../graph/ir.ts";

/** A node ready to run. */
export interface PlanStep {
  readonly index: number;
  readonly node: IrNode;
  /** Attributes of the call: the node's, or others that do less. */
  readonly attrs: Attrs;
  readonly device: Device;
  readonly inputs: readonly number[];
  /** For each input, true where the op takes a host array. */
  readonly onHost: readonly boolean[];
  /** For each input, true where it must leave GPU memory before the step runs. */
  readonly offGpu: readonly boolean[];
  readonly outputs: readonly number[];
  /** Steps that must run before: control edges, and producers that may be pending. */
  readonly after: readonly number[];
  /** Steps that wait for this one. */
  readonly before: readonly number[];
  /** Slots that the steps of the same boundary read to the host; the first of them reads all it can in one copy. */
  readonly reads: readonly number[];
  /** False where no input needs to be read from GPU memory. */
  readonly mayRead: boolean;
  /** For each output, true where it is read. */
  readonly wanted: readonly boolean[];
  /** For each output, the only device whose kernels read it; null if others read it. */
  readonly sinks: readonly (Device | null)[];
}

/** A plan for one set of fetches and feeds. */
export interface Plan {
  readonly steps: readonly PlanStep[];
  readonly slots: number;
  /** Values known from the start, by slot: host arrays, and handles of variables. */
  readonly constants: readonly { readonly slot: number; readonly value: NdArray | Tensor }[];
  readonly feeds: readonly number[];
  /** For each feed, the only device whose kernels read it; null if others read it. */
  readonly feedSinks: readonly (Device | null)[];
  /** Kind of each slot: 0 a result, or a feed that the run owns, 1 a constant, 2 a feed. */
  readonly kinds: Uint8Array;
  readonly fetches: readonly number[];
  /** Number of uses of each slot by steps and fetches. */
  readonly uses: readonly number[];
}

/** Debugging hook that gets each plan. */
export const planTrace: { print: ((plan: Plan) => void) | null } = { print: null };
