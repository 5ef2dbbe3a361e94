/**
 * Common subexpressions: pure nodes with the same op, attributes and inputs become one. Script ops are compared by
 * their function.
 */
import { objectNumbers } from "../../core/collections/counter.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { OpDef } from "../../core/op.ts";
import { effectsOf } from "../effect_order.ts";
import { sameShape } from "../../core/shape.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import { replaceValues } from "./replace.ts";

/** Larger constants are not compared by value. */
const SMALL = 64;

/** Returns the graph with equal pure nodes merged. */
export function cse(ir: IrGraph): IrGraph {
  const numbers = new Map<IrValue, number>();
  const values = new Map<IrValue, IrValue>();
  const nodes = new Map<IrNode, IrNode>();
  const known = new Map<string, IrNode>();
  for (const node of ir.nodes) {
    const key = isPure(node) ? keyOf(node, numbers) : null;
    const first = key === null ? undefined : known.get(key);
    if (first && samePromises(first, node)) {
      nodes.set(node, first);
      node.outputs.forEach((v, i) => {
        values.set(v, first.outputs[i]);
        numbers.set(v, numbers.get(first.outputs[i])!);
      });
      continue;
    }
    if (key !== null) known.set(key, node);
    for (const v of node.outputs) numbers.set(v, numbers.size);
  }
  return nodes.size === 0 ? ir : replaceValues(ir, values, nodes);
}

/** True for nodes whose results depend on inputs and attributes alone. */
export function isPure(node: IrNode): boolean {
  const { def, attrs, feed } = node;
  if (feed >= 0 || def.stateful || effectsOf({ def, attrs }) !== "none") return false;
  return !def.host || isConstant(node) || runsScript(def);
}

/** True for a pure node without control edges and promised shapes: it may become part of another. */
export function mayJoin(node: IrNode): boolean {
  return isPure(node) && node.controls.length === 0 && node.outputs.every((v) => !v.promised);
}

/** True for ops whose kernel is a user's function. */
export function runsScript(def: OpDef): boolean {
  return def.signature.attrDefs.some((a) => a.type === "script");
}

function samePromises(a: IrNode, b: IrNode): boolean {
  return a.outputs.every((v, i) => {
    const w = b.outputs[i];
    return v.promised === w.promised && (!v.promised || sameShape(v.shape, w.shape));
  });
}

function keyOf(node: IrNode, numbers: ReadonlyMap<IrValue, number>): string {
  let key = `${node.def.id}@${node.device}`;
  for (const v of node.inputs) key += `,${numbers.get(v)}`;
  for (const c of node.controls) key += `^${objectKey(c)}`;
  for (const name of Object.keys(node.attrs).sort()) {
    // Each call has a token of its own; its function tells more.
    if (name === "token" && node.attrs._script) continue;
    key += `;${name}=${valueKey(node.attrs[name])}`;
  }
  return key;
}

/** Returns a text that is equal for equal attribute values. Objects are equal by identity, or by their `mergeKey`. */
function valueKey(v: unknown): string {
  if (Object.is(v, -0)) return "-0";
  if (v === null || (typeof v !== "object" && typeof v !== "function")) {
    return `${typeof v}:${String(v)}`;
  }
  if (Array.isArray(v)) return `[${v.map(valueKey)}]`;
  if (v instanceof NdArray) return arrayKey(v);
  const merging = v as { mergeKey?(): string };
  return typeof merging.mergeKey === "function" ? `<${merging.mergeKey()}>` : objectKey(v);
}

function arrayKey(a: NdArray): string {
  if (a.size > SMALL || !ArrayBuffer.isView(a.data)) return objectKey(a);
  const { buffer, byteOffset, byteLength } = a.data;
  return `${a.dtype}[${a.shape}]${new Uint8Array(buffer, byteOffset, byteLength)}`;
}

const numberOf = objectNumbers();

function objectKey(v: object): string {
  return `#${numberOf(v)}`;
}
