/** Joining nodes: what cannot stand in any order is refused, rather than walked forever. */
import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { buildIr, type IrGraph, type IrNode } from "../../src/graph/ir.ts";
import { type Joined, joinNodes } from "../../src/graph/passes/clusters.ts";
import type { SymbolicTensor } from "../../src/graph/operation.ts";

/** x, exp(x), neg(exp(x)), abs(neg(exp(x))). */
function chain(): IrGraph {
  const y = new tf.Graph().asDefault(() =>
    tf.abs(tf.neg(tf.exp(tf.placeholder("float32", [2], "x"))))
  );
  return buildIr({ fetches: [y as unknown as SymbolicTensor], targets: [], feeds: [] });
}

/** Puts the first of some nodes in the place of all. */
function joinOf(members: IrNode[], inputs: IrNode["inputs"]): Joined {
  return {
    members,
    node: { ...members[0], inputs, outputs: [] },
    outputs: [members.at(-1)!.outputs[0]],
  };
}

Deno.test("joinNodes() puts one node in the place of several", () => {
  const ir = chain(), [x, exp, neg] = ir.nodes;
  const { nodes } = joinNodes(ir, [joinOf([exp, neg], x.outputs)]);
  assertEquals(nodes.map((n) => n.def.name), ["Placeholder", "Exp", "Abs"]);
});

Deno.test("joinNodes() refuses clusters that need themselves, or each other", () => {
  const ir = chain(), [x, exp, neg, abs] = ir.nodes;
  const cases: Joined[][] = [
    [joinOf([exp, abs], [...x.outputs, ...neg.outputs])],
    [joinOf([exp, neg], abs.outputs), joinOf([abs], neg.outputs)],
  ];
  for (const joins of cases) {
    assertThrows(() => joinNodes(ir, joins), tf.errors.InternalError, "needs itself");
  }
});
