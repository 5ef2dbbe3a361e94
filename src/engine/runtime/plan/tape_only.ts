/** Finds calls of which only the first gradient is read: their attributes then omit all other work. */
import type { TapeOnlyCall } from "../../core/contract/host_op.ts";
import type { Attrs } from "../../core/op.ts";
import { isConcrete } from "../../core/shape.ts";
import { effectsOf } from "../../graph/effect_order.ts";
import type { IrGraph, IrNode, IrValue } from "../../graph/ir.ts";

const calls = new WeakMap<Attrs, TapeOnlyCall | null>();

/** Returns the call of a node of which only the tape is read; null if there is no special one. */
function tapeOnlyCall({ def, attrs }: Pick<IrNode, "def" | "attrs">): TapeOnlyCall | null {
  const { host } = def;
  if (host?.tapeOnly === undefined) return null;
  let call = calls.get(attrs);
  if (call === undefined) {
    try {
      call = host.tapeOnly(attrs);
    } catch {
      // A missing gradient is reported when the node runs.
      call = null;
    }
    calls.set(attrs, call);
  }
  return call;
}

/** The part of a graph that only gradients read. */
export interface TapeOnly {
  /** New attributes of effectful nodes of which only the tape is read, by first-gradient nodes. */
  readonly attrs: ReadonlyMap<IrNode, Attrs>;
  /** Values that are read; of all others only the shape is used. */
  readonly read: ReadonlySet<IrValue>;
}

/**
 * Finds the nodes of which only the tape is read; nodes with wanted effects or dependents are not among them.
 * `firstOrder`: fetched tapes are for a first gradient too.
 */
export function tapeOnly(ir: IrGraph, firstOrder: boolean): TapeOnly {
  const changed = new Map<IrNode, Attrs>(), read = new Set<IrValue>();
  for (const v of ir.fetches) if (!firstOrder || !isTape(v)) read.add(v);
  const awaited = new Set([...ir.targets, ...ir.nodes.flatMap((n) => n.controls)]);
  for (let i = ir.nodes.length - 1; i >= 0; i--) {
    const node = ir.nodes[i];
    let reads: TapeOnlyCall["reads"] | null = readsOfGradient(node, read);
    if (
      effectsOf(node) !== "none" && !awaited.has(node) && !node.outputs.some((v) => read.has(v))
    ) {
      const call = tapeOnlyCall(node);
      if (call !== null) {
        changed.set(node, call.attrs);
        ({ reads } = call);
      }
    }
    node.inputs.forEach((v, k) => {
      if (reads === null || reads(k)) read.add(v);
    });
  }
  return { attrs: changed, read };
}

/** True for the tape of a node that can be called for the tape alone. */
function isTape({ node, index, dtype }: IrValue): boolean {
  return dtype === "variant" && index === node.outputs.length - 1 && tapeOnlyCall(node) !== null;
}

/**
 * Returns the inputs that a first gradient reads: its given gradients and handles among the sources. Of other sources
 * it uses the shape. Null for other nodes, and for a gradient that is itself differentiated.
 */
function readsOfGradient(
  { def, attrs, inputs, outputs }: IrNode,
  read: ReadonlySet<IrValue>,
): ((input: number) => boolean) | null {
  const sources = def.host?.tapeSources?.(attrs);
  if (sources === undefined || read.has(outputs.at(-1)!)) return null;
  return (k) => {
    if (k === 0) return !isTape(inputs[k]);
    return k > sources || inputs[k].dtype === "resource" || !isConcrete(inputs[k].shape);
  };
}
