/** Joining nodes: what cannot stand in any order is refused, rather than walked forever. */
import * as tf from "@weft/weft";
import fc from "fast-check";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { buildIr, type IrGraph, type IrNode } from "../../src/engine/graph/ir.ts";
import { Clusters, type Joined, joinNodes } from "../../src/engine/graph/passes/clusters.ts";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import { testOnDevices } from "../devices.ts";

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

Deno.test("Clusters.unite() refuses a way through a third, apart any way", () => {
  const ir = chain(), [x, exp, neg, abs] = ir.nodes;
  const clusters = new Clusters(ir);
  assertEquals(clusters.unite(exp, abs), false);
  assertEquals(clusters.unite(exp, neg, true), false);
  assertEquals(clusters.setOf(exp).size, 1);
  assertEquals(clusters.unite(exp, neg), true);
  assertEquals(clusters.setOf(neg), clusters.setOf(exp));
  assertEquals(clusters.unite(x, abs), false);
  assertEquals(clusters.unite(abs, exp), true);
  assertEquals(clusters.unite(abs, x), true);
  assertEquals(clusters.setOf(x).size, 4);
});

/** True where a way leads from one node of a set out of it and back, going through other sets as a whole. */
function comesBack(ir: IrGraph, setOf: (node: IrNode) => ReadonlySet<IrNode>): boolean {
  const units = [...new Set(ir.nodes.map((n) => setOf(n)))];
  const next = new Map(units.map((u) => [u, new Set<ReadonlySet<IrNode>>()]));
  for (const node of ir.nodes) {
    for (const v of node.inputs) {
      if (setOf(v.node) !== setOf(node)) next.get(setOf(v.node))!.add(setOf(node));
    }
  }
  const left = new Set(units);
  for (let before = -1; left.size !== before;) {
    before = left.size;
    for (const u of left) if (![...left].some((o) => next.get(o)!.has(u))) left.delete(u);
  }
  return left.size > 0;
}

Deno.test("Clusters.unite() unites just what makes no cycle, whatever was united before", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(50), fc.nat(50)), { minLength: 4, maxLength: 20 }),
      fc.array(fc.tuple(fc.nat(50), fc.nat(50)), { maxLength: 30 }),
      (edges, pairs) => {
        const y = new tf.Graph().asDefault(() => {
          const list: tf.Tensor[] = [tf.placeholder("float32", [2], "x")];
          for (const [a, b] of edges) {
            list.push(tf.add(list[a % list.length], list[b % list.length]));
          }
          return list;
        });
        const fetches = y as unknown as SymbolicTensor[];
        const ir = buildIr({ fetches, targets: [], feeds: [] });
        const clusters = new Clusters(ir);
        for (const [i, j] of pairs) {
          const a = ir.nodes[i % ir.nodes.length], b = ir.nodes[j % ir.nodes.length];
          const union = new Set([...clusters.setOf(a), ...clusters.setOf(b)]);
          const known = new Map(ir.nodes.map((n) => [n, clusters.setOf(n)]));
          const fits = !comesBack(ir, (n) => union.has(n) ? union : known.get(n)!);
          const isApart = !ir.nodes.some((n) =>
            union.has(n) && n.inputs.some((v) => union.has(v.node))
          );
          if ((i + j) % 3 === 0 && a !== b && clusters.setOf(a) !== clusters.setOf(b)) {
            const apart = clusters.unite(a, b, true);
            // Members of one set may read each other already.
            if (apart) assert(fits);
            else assert(!fits || !isApart);
          } else assertEquals(clusters.unite(a, b), fits);
          for (const n of ir.nodes) assert(clusters.setOf(n).has(n));
        }
      },
    ),
    { seed: 3, numRuns: 200 },
  );
});

testOnDevices(
  "what is grouped may need one another: moments of columns, two updates in a step",
  () => {
    const x = tf.tensor([[1, 2], [3, 6]]);
    const moments = tf.function((x: tf.Tensor) => {
      const { mean, variance } = tf.moments(x, 0);
      const kept = tf.moments(x, [0], true);
      return [mean, variance, kept.mean, tf.sum(tf.mul(tf.mean(x, 0, true), x), 0)];
    });
    const results = (moments(x) as tf.Tensor[]).map((t) => t.arraySync());
    assertEquals(results, [[2, 4], [1, 4], [[2, 4]], [8, 32]]);
    const norm = tf.function((x: tf.Tensor) => {
      const { mean, variance } = tf.moments(x, 0);
      return tf.batchNorm(x, mean, variance, [0, 0], [1, 1], 0) as tf.Tensor;
    });
    assertEquals((norm(x) as tf.Tensor).arraySync(), [[-1, -1], [1, 1]]);

    const w = tf.variable(tf.tensor([1, 2])), optimizer = tf.train.momentum(0.5, 0.5);
    const step = tf.function(() => {
      for (let i = 0; i < 2; i++) optimizer.minimize(() => tf.sum(tf.square(w)), false, [w]);
      return tf.identity(w);
    });
    // 1, 0 with momentum 2, then 0 - 0.5·(0.5·2).
    assertEquals((step() as tf.Tensor).arraySync(), [-0.5, -1]);
    for (const t of [w, optimizer]) t.dispose();
  },
);
