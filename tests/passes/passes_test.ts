/** Passes: what they do to a graph. That results stay the same is random_graphs_test.ts's business. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { buildIr } from "../../src/engine/graph/ir.ts";
import { addedNode } from "../../src/engine/graph/passes/added.ts";
import { applyRules, type Pattern } from "../../src/engine/graph/passes/patterns.ts";
import { PASSES } from "../../src/engine/graph/passes/pipeline.ts";
import { irText, verify } from "../../src/engine/graph/passes/verify.ts";
import type { SymbolicTensor } from "../../src/engine/graph/operation.ts";
import { optimized } from "../graph/graph_text.ts";

const x = (shape: number[] = [4], name = "x"): tf.Tensor => tf.placeholder("float32", shape, name);

Deno.test("fuse() makes one op of a tree of pointwise ops, small constants included", () => {
  assertEquals(
    optimized(() => {
      const t = x();
      return tf.mul(
        0.5,
        tf.mul(
          t,
          tf.add(
            1,
            tf.tanh(tf.mul(0.7978845608, tf.add(t, tf.mul(0.044715, tf.mul(t, tf.mul(t, t)))))),
          ),
        ),
      );
    }),
    ["%0 = Placeholder() : float32[4]", "%1 = _FusedPointwise(%0) : float32[4]", "return %1"],
  );
});

Deno.test("fuse() leaves apart what is fetched, read elsewhere, smaller, or placed elsewhere", () => {
  const count = (build: () => tf.Tensor | tf.Tensor[]): number =>
    optimized(build, ["fuse"]).filter((l) => l.includes("= ")).length;
  const cases: [string, () => tf.Tensor | tf.Tensor[], number][] = [
    ["fetched", () => {
      const a = tf.exp(x());
      return [a, tf.neg(a)];
    }, 3],
    ["read by a reduction too", () => {
      const a = tf.exp(x());
      return tf.add(tf.neg(a), tf.sum(a));
    }, 5],
    ["smaller", () => tf.add(tf.exp(x([1])), x([4], "y")), 4],
    ["elsewhere", () => tf.neg(tf.device("/CPU:0", () => tf.exp(x()))), 3],
    ["together", () => tf.neg(tf.exp(x())), 2],
  ];
  for (const [what, build, nodes] of cases) {
    assertEquals(count(build), nodes, `${what}: ${optimized(build, ["fuse"]).join("\n")}`);
  }
});

Deno.test("fuse() computes again what is cheap and read by several, where nothing more is loaded for it", () => {
  const cases: [string, () => tf.Tensor[], number][] = [
    ["cheap, of a value that others read too", () => {
      const t = x(), a = tf.mul(t, 2);
      return [tf.sum(tf.exp(a)), tf.sum(tf.tanh(a)), tf.sum(t)];
    }, 2],
    ["costly", () => {
      const t = x(), a = tf.tanh(t);
      return [tf.sum(tf.exp(a)), tf.sum(tf.neg(a)), tf.sum(t)];
    }, 3],
    ["of two values", () => {
      const t = x(), u = x([4], "u"), a = tf.add(t, u);
      return [tf.sum(tf.exp(a)), tf.sum(tf.tanh(a)), tf.sum(t), tf.sum(u)];
    }, 3],
    ["read by a reduction as well", () => {
      const t = x(), a = tf.add(t, t);
      return [tf.sum(tf.exp(a)), tf.sum(tf.tanh(a)), tf.sum(a), tf.sum(t)];
    }, 3],
    ["of a product that nobody else reads", () => {
      const a = tf.neg(tf.matMul(x([2, 2]), x([2, 2], "u")));
      return [tf.sum(tf.exp(a)), tf.sum(tf.tanh(a))];
    }, 3],
  ];
  for (const [what, build, nodes] of cases) {
    const lines = optimized(build, ["fuse"]);
    const pointwise = lines.filter((l) => !/Placeholder|Const|Sum|MatMul|return/.test(l));
    assertEquals(pointwise.length, nodes, `${what}: ${lines.join("\n")}`);
  }
});

Deno.test("mergePointwise() makes one op of several outputs where an array is read less often", () => {
  const y = (): tf.Tensor => x([4], "y");
  const cases: [string, () => tf.Tensor | tf.Tensor[], string][] = [
    ["a result that is fetched and read", () => {
      const a = tf.exp(x());
      return [a, tf.neg(a)];
    }, "%1 = _FusedPointwise(%0) : float32[4], float32[4]"],
    ["the same operand", () => {
      const t = x();
      return [tf.exp(t), tf.mul(t, y())];
    }, "%2 = _FusedPointwise(%0, %1) : float32[4], float32[4]"],
    ["a result that nobody else reads", () => {
      const t = x(), a = tf.exp(t), b = tf.add(a, y());
      return [tf.mul(a, b), tf.sum(b)];
    }, "%2 = _FusedPointwise(%0, %1) : float32[4], float32[4]"],
  ];
  for (const [what, build, line] of cases) {
    const lines = optimized(build, ["merge"]);
    assert(lines.includes(line), `${what}: ${lines.join("\n")}`);
  }
});

Deno.test("mergePointwise() leaves apart what shares nothing, waits, differs in shape or place, or needs too many buffers", () => {
  const cases: [string, () => tf.Tensor[]][] = [
    ["shares nothing", () => [tf.exp(x()), tf.neg(x([4], "y"))]],
    ["shares a scalar", () => {
      const s = x([], "s");
      return [tf.mul(x(), s), tf.add(x([4], "y"), s)];
    }],
    ["a way through another op", () => {
      const a = tf.exp(x());
      return [tf.add(a, tf.cumsum(a))];
    }],
    ["unknown shape", () => {
      const t = tf.placeholder("float32", [null], "x");
      return [tf.exp(t), tf.neg(t)];
    }],
    ["other shape", () => {
      const t = x();
      return [tf.exp(t), tf.mul(t, x([3, 4], "y"))];
    }],
    ["elsewhere", () => {
      const t = x();
      return [tf.exp(t), tf.device("/CPU:0", () => tf.neg(t))];
    }],
    ["after a script", () => {
      const t = x();
      const s = tf.numpyFunction(
        (p: tf.NdArray) => p,
        [tf.cumsum(t)],
        tf.TensorSpec([4], "float32"),
      );
      return [tf.exp(t), tf.mul(t, s)];
    }],
    ["nine buffers", () => {
      const [t, ...rest] = "tabcdef".split("").map((name) => x([4], name));
      return [tf.addN([t, ...rest]), tf.exp(t), tf.neg(t)];
    }],
  ];
  for (const [what, build] of cases) {
    const lines = optimized(build, ["merge"]);
    const most = what === "nine buffers" ? 2 : 1;
    for (const l of lines.filter((l) => l.includes("_FusedPointwise"))) {
      assert(l.split(" : ")[1].split("32[").length - 1 <= most, `${what}: ${lines.join("\n")}`);
    }
  }
});

Deno.test("joined ops have bounded work: long chains are as many kernels as their work asks for", () => {
  const chain = (n: number, op: (y: tf.Tensor, t: tf.Tensor) => tf.Tensor) => () => {
    const t = x();
    let y = t;
    for (let i = 0; i < n; i++) y = op(y, t);
    return y;
  };
  const cases: [string, () => tf.Tensor | tf.Tensor[], number][] = [
    ["as much as there may be", chain(200, (y, t) => tf.add(y, t)), 1],
    ["one more", chain(201, (y, t) => tf.add(y, t)), 2],
    ["ten times as much", chain(2000, (y, t) => tf.add(y, t)), 10],
    ["costly ones", chain(20, (y) => tf.tanh(y)), 1],
    ["twice as many costly ones", chain(40, (y) => tf.tanh(y)), 2],
    ["each result is wanted", () => {
      const list = [x()];
      for (let i = 0; i < 40; i++) list.push(tf.add(list[i], 1));
      return list;
      // One array is read, seven are written.
    }, 6],
    ["many that read one array", () => {
      const t = x();
      return Array.from({ length: 70 }, (_, i) => tf.mul(t, i));
    }, 10],
  ];
  for (const [what, build, kernels] of cases) {
    const lines = optimized(build);
    const fused = lines.filter((l) => /= (_FusedPointwise|AddV2|Tanh|Mul)\(/.test(l));
    assertEquals(fused.length, kernels, `${what}: ${lines.join("\n").slice(0, 2000)}`);
  }
});

Deno.test("cse() merges equal pure nodes and no others", () => {
  const lines = optimized(() => {
    const t = x();
    return [
      tf.exp(t),
      tf.exp(t),
      tf.sum(t, 0),
      tf.sum(t, 0, true),
      tf.randomUniform([2], 0, 1),
      tf.randomUniform([2], 0, 1),
    ];
  }, ["cse"]);
  const [, ...fetches] = lines.at(-1)!.match(/%\d+/g)
    ? ["", ...lines.at(-1)!.match(/%\d+/g)!]
    : [""];
  assertEquals(new Set(fetches).size, 5);
});

Deno.test("verify() says which node is broken, and how", () => {
  const graph = new tf.Graph();
  const [y, z] = graph.asDefault(() => [
    tf.exp(x()),
    tf.add(tf.constant([1, 2]), tf.placeholder("float32", [2], "p")),
  ]) as unknown as SymbolicTensor[];
  const make = () => buildIr({ fetches: [y, z], targets: [], feeds: [] });
  type Ir = ReturnType<typeof make>;
  // deno-lint-ignore no-explicit-any
  type Node = any;
  const of = (ir: Ir, name: string): Node => ir.nodes.find((n) => n.def.name === name)!;
  const cases: [(ir: Ir) => Ir | void, string][] = [
    [(ir) => ({ ...ir, nodes: [...ir.nodes].reverse() }), "which does not stand before it"],
    [(ir) => void (of(ir, "Exp").controls = [of(ir, "AddV2")]), 'waits for "AddV2", which'],
    [(ir) => void (of(ir, "Const").controls = [ir.nodes[0]]), "waits for something"],
    [
      (ir) => void of(ir, "Exp").outputs.push(of(ir, "AddV2").outputs[0]),
      "has output 1 of another",
    ],
    [
      (ir) => void (of(ir, "Exp").outputs[0] = { ...of(ir, "Exp").outputs[0], index: 1 }),
      "has output 0 of another node",
    ],
    [
      (ir) => void (of(ir, "AddV2").outputs[0].shape = [3]),
      "has output 0 of float32[3], inferred float32[2]",
    ],
    [
      (ir) => void (of(ir, "AddV2").outputs[0].dtype = "int32"),
      "has output 0 of int32[2], inferred float32[2]",
    ],
    [(ir) => ({ ...ir, fetches: [{ ...ir.fetches[0] }] }), "is fetched but not there"],
    [(ir) => ({ ...ir, targets: [{ ...ir.nodes[0] }] } as Ir), "is a target but not there"],
  ];
  verify(make(), "the test");
  for (const [spoil, says] of cases) {
    const ir = make(), broken = spoil(ir) ?? ir;
    const error = assertThrows(() => verify(broken, "the test"), tf.errors.InternalError, says);
    assert(error.message.startsWith("Graph is broken after the test: "), error.message);
  }
});

Deno.test("verify() refuses a graph in the wrong order or of wrong dtypes", () => {
  const y = new tf.Graph().asDefault(() => tf.exp(x())) as unknown as SymbolicTensor;
  const ir = buildIr({ fetches: [y], targets: [], feeds: [] });
  for (
    const broken of [
      { ...ir, nodes: [...ir.nodes].reverse() },
      { ...ir, nodes: ir.nodes.slice(1) },
      { ...ir, fetches: [{ ...ir.fetches[0] }] },
    ]
  ) {
    let refused = false;
    try {
      verify(broken, "the test");
    } catch (e) {
      refused = e instanceof tf.errors.InternalError;
    }
    assert(refused);
  }
});

Deno.test("irText() tells what is fed from ops of the same name", () => {
  const [x0, x1, y] = new tf.Graph().asDefault(() => {
    const [a, b] = [x([4], "a"), x([4], "b")];
    return [a, b, tf.add(tf.exp(a), b)];
  }) as unknown as SymbolicTensor[];
  const text = (feeds: SymbolicTensor[]): string[] =>
    irText(buildIr({ fetches: [y], targets: [], feeds })).split("\n").map((line) =>
      /= (\w+)/.exec(line)?.[1] ?? ""
    );
  assertEquals(text([x0, x1]), ["Feed", "Feed", "Exp", "AddV2", ""]);
  assertEquals(text([x1]).sort(), ["", "AddV2", "Exp", "Feed", "Placeholder"]);
});

Deno.test("mergePointwise() makes one op of readers of a fed value, constants or further feeds beside it", () => {
  for (const other of [() => x([4], "other"), () => tf.constant([1, 2, 3, 4])]) {
    const [middle, beside, ...fetches] = new tf.Graph().asDefault(() => {
      const [t, o] = [tf.exp(x()), other()];
      return [t, o, tf.neg(t), tf.mul(t, o)];
    }) as unknown as SymbolicTensor[];
    const feeds = beside.operation.type === "Const" ? [middle] : [middle, beside];
    const made = PASSES.merge(buildIr({ fetches, targets: [], feeds }), "CPU");
    const text = irText(made);
    assertEquals(text.split("_FusedPointwise").length, 2, text);
  }
});

Deno.test("applyRules() tries a pattern that says nothing of its ops on every op", () => {
  const y = new tf.Graph().asDefault(() => tf.tanh(tf.exp(x()))) as unknown as SymbolicTensor;
  const tried: string[] = [];
  const pattern: Pattern = ({ node }, match) => {
    tried.push(node.def.name);
    match.nodes = new Set(match.nodes).add(node);
    return node.def.name === "Exp";
  };
  const made = applyRules(buildIr({ fetches: [y], targets: [], feeds: [] }), [{
    makes: "Neg",
    pattern,
    replace: (_, root) => addedNode(root, "Neg", root.inputs, root.attrs),
  }]);
  assertEquals(new Set(tried), new Set(["Placeholder", "Exp", "Tanh"]));
  assert(made.nodes.some(({ def }) => def.name === "Neg"), irText(made));
});
