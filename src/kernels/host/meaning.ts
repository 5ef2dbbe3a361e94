/**
 * What host kernels compute, as data: the CPU device reads it where it has faster code than the kernel's own loops.
 */
import type { CpuKernel, OpDef, Problem } from "../../core/op.ts";
import type { Expr } from "../../core/scalar/expr.ts";
import type { RowExchange } from "../copy/join.ts";
import type { CopyMap } from "../copy/map.ts";
import type { RowLayout } from "../copy/gather_layout.ts";
import type { Epilogue } from "../matmul/epilogue.ts";
import type { ReduceTask } from "../reduce/task.ts";
import type { ScatterInputs } from "../copy/scatter.ts";

/** What an op means to a device. */
export interface HostMeaning {
  /** Output i is expression i of the inputs, broadcast. */
  readonly pointwise?: (problem: Problem) => readonly Expr[];
  /** The output is the sum of all inputs, from the first on. */
  readonly sum?: true;
  /** The output is a copy of input `from`; places read from nowhere get the element in input `fill`, or zero. */
  readonly copy?: {
    readonly from: number;
    readonly map: (problem: Problem) => CopyMap;
    readonly fill: number | undefined;
  };
  /** The output holds the rows of input 0 that input 1 names. */
  readonly gather?: (problem: Problem) => RowLayout;
  /** Rows of an input are put where others say. */
  readonly scatter?: {
    readonly layout: (problem: Problem) => RowLayout;
    readonly inputs: ScatterInputs;
    /** `add` sums, `write` keeps the last. */
    readonly how: "add" | "write";
    /** `negative`: rows with a negative index are left out. */
    readonly skip: "none" | "negative";
  };
  /** The op joins or splits. */
  readonly exchange?: RowExchange;
  /** The output is that of another op on the first two inputs, and then this; null where no kernel knows it. */
  readonly epilogue?: (problem: Problem) => Epilogue | null;
  /** The output is this reduction; null where no kernel knows it. */
  readonly reduction?: (problem: Problem) => ReduceTask | null;
}

const byKernel = new WeakMap<CpuKernel, HostMeaning>();
const byName = new Map<string, HostMeaning>();

/** The kernel, and what it means. */
export function withMeaning(kernel: CpuKernel, meaning: HostMeaning): CpuKernel {
  byKernel.set(kernel, meaning);
  return kernel;
}

/** Says what an op without a host kernel means. */
export function setMeaning(op: string, meaning: HostMeaning): void {
  byName.set(op, meaning);
}

/** What an op means, where somebody said. */
export function meaningOf(def: OpDef): HostMeaning | undefined {
  return (def.cpu && byKernel.get(def.cpu)) ?? byName.get(def.name);
}
