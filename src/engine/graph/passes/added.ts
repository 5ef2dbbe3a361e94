/** Makes the nodes that passes add to a plan's graph. They come from the operation that they replace. */
import { type Attrs, inferOutputs, lookupOp } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { IrNode, IrValue } from "../ir.ts";

/** True where an op is loaded. A bundler leaves out modules of ops that a program does not name, and so passes must not make them. */
export function isLoaded(op: string): boolean {
  return lookupOp(op) !== undefined;
}

/** Makes a node without outputs in the place of `like`. */
export function addedNode(
  like: IrNode,
  op: string,
  inputs: readonly IrValue[],
  attrs: Attrs = {},
): IrNode {
  const { name, device, source, feed } = like, def = lookupOp(op)!;
  return { name, def, attrs, inputs: [...inputs], controls: [], outputs: [], device, source, feed };
}

/** Adds the only output to a new node. */
export function addedValue(
  like: IrNode,
  op: string,
  inputs: readonly IrValue[],
  attrs: Attrs = {},
): IrValue {
  const specs = inputs.map(({ dtype, shape, node }) => ({ dtype, shape, value: node.attrs.value }));
  const inferred = inferOutputs(lookupOp(op)!, specs, attrs);
  const node = addedNode(like, op, inputs, inferred.attrs);
  return valueOf(node, inferred.outputs[0]);
}

/** Returns values with casts of those of float16, one for each. */
export function inFloat32(like: IrNode, values: readonly IrValue[]): IrValue[] {
  const casts = new Map<IrValue, IrValue>();
  return values.map((v) => {
    if (v.dtype !== "float16") return v;
    let made = casts.get(v);
    if (made === undefined) {
      made = addedValue(like, "Cast", [v], { SrcT: "float16", DstT: "float32" });
      casts.set(v, made);
    }
    return made;
  });
}

/** True for a cast that rounds to float16. */
export function isRounding({ def, inputs, outputs }: IrNode): boolean {
  return def.name === "Cast" && inputs[0].dtype === "float32" && outputs[0].dtype === "float16";
}

/** Returns the float16 of which a value is the same in float32, or the value. */
export function halfOf(v: IrValue): IrValue {
  const { def, inputs: [x] } = v.node;
  return def.name === "Cast" && v.dtype === "float32" && x.dtype === "float16" ? x : v;
}

export function constantNode(like: IrNode, value: NdArray): IrValue {
  return valueOf(addedNode(like, "Const", [], { value, dtype: value.dtype }), value);
}

function valueOf(node: IrNode, { dtype, shape }: Pick<IrValue, "dtype" | "shape">): IrValue {
  const value: IrValue = { node, index: 0, dtype, shape, promised: false };
  node.outputs.push(value);
  return value;
}
