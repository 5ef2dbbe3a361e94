/**
 * verify: what must hold of a plan's graph between passes.
 * May import core and graph files.
 */
import { InternalError } from "../../core/errors.ts";
import { inferOutputs } from "../../core/op.ts";
import { compatible, shapeText } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";

/** Throws `InternalError` where a node stands before what it needs, a value is not its node's, or dtypes and shapes do not fit the op. */
export function verify(ir: IrGraph, after: string): IrGraph {
  const seen = new Set<IrNode>();
  const fail = (node: IrNode, what: string): never => {
    throw new InternalError(
      `Graph is broken after ${after}: ${node.def.name} "${node.name}" ${what}`,
    );
  };
  for (const node of ir.nodes) {
    for (const v of node.inputs) {
      if (!seen.has(v.node)) fail(node, `reads "${v.node.name}", which does not stand before it`);
    }
    for (const c of node.controls) {
      if (!seen.has(c)) fail(node, `waits for "${c.name}", which does not stand before it`);
    }
    node.outputs.forEach((v, i) => {
      if (v.node !== node || v.index !== i) fail(node, `has output ${i} of another node`);
    });
    if (node.feed < 0 && !node.def.host) {
      const { outputs } = inferOutputs(node.def, node.inputs, node.attrs);
      outputs.forEach((o, i) => {
        const v = node.outputs[i];
        if (!v || v.dtype !== o.dtype || !compatible(v.shape, o.shape)) {
          fail(
            node,
            `has output ${i} of ${v?.dtype}${shapeText(v?.shape ?? null)}, inferred ${o.dtype}${
              shapeText(o.shape)
            }`,
          );
        }
      });
    }
    seen.add(node);
  }
  for (const v of ir.fetches) {
    if (!seen.has(v.node) || v.node.outputs[v.index] !== v) {
      fail(v.node, "is fetched but not there");
    }
  }
  for (const n of ir.targets) if (!seen.has(n)) fail(n, "is a target but not there");
  return ir;
}

/** The graph as text: one node a line. */
export function irText(ir: IrGraph): string {
  const number = new Map(ir.nodes.map((n, i) => [n, i]));
  const valueText = ({ node, index }: IrValue): string =>
    `%${number.get(node)}${index > 0 ? `:${index}` : ""}`;
  const lines = ir.nodes.map((n, i) => {
    const inputs = n.inputs.map(valueText);
    const controls = n.controls.map((c) => `^%${number.get(c)}`);
    const outputs = n.outputs.map((v) => `${v.dtype}${shapeText(v.shape)}`).join(", ");
    const place = n.device === "" ? "" : ` @${n.device}`;
    return `%${i} = ${n.feed >= 0 ? "Feed" : n.def.name}(${
      [...inputs, ...controls].join(", ")
    })${place} : ${outputs}  # ${n.name}`;
  });
  return [...lines, `return ${ir.fetches.map(valueText).join(", ")}`].join(
    "\n",
  );
}
