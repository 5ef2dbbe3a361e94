/** verify: checks the invariants of a plan's graph between passes, and the effects that a pass must keep. */
import { InternalError } from "../../core/errors.ts";
import { fusionText } from "../../core/fusion.ts";
import { type Attrs, inferOutputs } from "../../core/op.ts";
import { compatible, shapeText } from "../../core/shape.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import type { Operation } from "../operation.ts";
import { isPure } from "./cse.ts";

/**
 * Throws `InternalError` where a node stands before its inputs, a value is not its node's, dtypes and shapes do not fit
 * the op, or a constant has control edges; and where an effect of `before` is lost or out of order.
 */
export function verify(ir: IrGraph, after: string, before?: IrGraph): IrGraph {
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
    if (isConstant(node) && node.controls.length > 0) fail(node, "waits for something");
    node.outputs.forEach((v, i) => {
      if (v.node !== node || v.index !== i) fail(node, `has output ${i} of another node`);
    });
    if (node.feed < 0 && !node.def.host && !isInferred(node)) {
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
      inferred.set(node.attrs, factsOf(node));
    }
    seen.add(node);
  }
  for (const v of ir.fetches) {
    if (!seen.has(v.node) || v.node.outputs[v.index] !== v) {
      fail(v.node, "is fetched but not there");
    }
  }
  for (const n of ir.targets) if (!seen.has(n)) fail(n, "is a target but not there");
  if (before && before !== ir) checkEffects(before, ir, fail);
  return ir;
}

/** The inputs and outputs of nodes whose outputs were inferred and found right, by attributes: passes keep most nodes as they are. */
const inferred = new WeakMap<Attrs, readonly unknown[]>();

function isInferred(node: IrNode): boolean {
  const known = inferred.get(node.attrs), facts = factsOf(node);
  return known !== undefined && known.length === facts.length &&
    facts.every((fact, i) => fact === known[i]);
}

function factsOf({ def, inputs, outputs }: IrNode): unknown[] {
  const facts: unknown[] = [def, inputs.length];
  for (const { dtype, shape, node } of inputs) facts.push(dtype, shape, node.attrs);
  for (const { dtype, shape } of outputs) facts.push(dtype, shape);
  return facts;
}

type Effects = ReadonlySet<Operation>;
type EffectsOfNodes = ReadonlyMap<Operation, readonly [IrNode, Effects]>;

/** The effects in graphs: each pass begins with the graph that the one before it made. */
const effectsIn = new WeakMap<IrGraph, EffectsOfNodes>();

function checkEffects(
  before: IrGraph,
  now: IrGraph,
  fail: (node: IrNode, what: string) => never,
): void {
  const found = effectsOf(now);
  for (const [op, [node, wanted]] of effectsOf(before)) {
    const kept = found.get(op)?.[1];
    if (kept === undefined) fail(node, "is lost");
    for (const o of wanted) {
      if (!kept.has(o)) fail(node, `no longer waits for ${o.type} "${o.name}"`);
    }
  }
}

/** Finds the effects in a graph: the node of each, and the effects before it. */
function effectsOf(ir: IrGraph): EffectsOfNodes {
  const known = effectsIn.get(ir);
  if (known !== undefined) return known;
  const effects = new Map<Operation, readonly [IrNode, Effects]>();
  const behind = new Map<IrNode, Effects>();
  for (const node of ir.nodes) {
    let own: Effects = new Set();
    for (const n of [...node.inputs.map((v) => v.node), ...node.controls]) {
      const more = behind.get(n)!;
      // Most nodes have the effects of one input: they share the set.
      if (own.size === 0) own = more;
      else if (own !== more && more.size > 0) own = new Set([...own, ...more]);
    }
    if (node.feed < 0 && !isPure(node)) {
      effects.set(node.source, [node, own]);
      own = new Set([...own, node.source]);
    }
    behind.set(node, own);
  }
  effectsIn.set(ir, effects);
  return effects;
}

/** Formats a graph: one node a line. */
export function irText(ir: IrGraph): string {
  const number = new Map(ir.nodes.map((n, i) => [n, i]));
  const valueText = ({ node, index }: IrValue): string =>
    `%${number.get(node)}${index > 0 ? `:${index}` : ""}`;
  const lines = ir.nodes.map((n, i) => {
    const inputs = n.inputs.map(valueText);
    const controls = n.controls.map((c) => `^%${number.get(c)}`);
    const outputs = n.outputs.map((v) => `${v.dtype}${shapeText(v.shape)}`).join(", ");
    const place = n.device === "" ? "" : ` @${n.device}`;
    return `%${i} = ${n.feed >= 0 ? "Feed" : n.def.name}(${[...inputs, ...controls].join(", ")})${
      fusionText(n.attrs)
    }${place} : ${outputs}  # ${n.name}`;
  });
  return [...lines, `return ${ir.fetches.map(valueText).join(", ")}`].join(
    "\n",
  );
}
