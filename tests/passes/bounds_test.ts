/** Bounds of the passes' joins, and the order of operands: a regression would keep results right and only cost time. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import type { PassName } from "../../src/engine/graph/passes/pipeline.ts";
import { optimized } from "../graph/graph_text.ts";

type Build = () => tf.Tensor | tf.Tensor[];

const place = (shape: (number | null)[], name = "x"): tf.Tensor =>
  tf.placeholder("float32", shape, name);
const places = (n: number, shape = [4]): tf.Tensor[] =>
  Array.from({ length: n }, (_, i) => place(shape, `p${i}`));
const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);

/** Counts the remaining nodes of these ops. */
function count(build: Build, ops: RegExp, passes?: readonly PassName[]): number {
  return optimized(build, passes).filter((l) => ops.test(l)).length;
}

/** The function with its operands as they stand, and the other way round. */
type Order = (f: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor) => typeof f;
const ORDERS: readonly Order[] = [(f) => f, (f) => (a, b) => f(b, a)];

/** All choices of as many orders as a pattern has operands to exchange. */
function orders(n: number): Order[][] {
  return n === 0 ? [[]] : orders(n - 1).flatMap((list) => ORDERS.map((o) => [...list, o]));
}

const moments = (t: tf.Tensor): [tf.Tensor, tf.Tensor] => {
  const mean = tf.mean(t, -1, true);
  return [mean, tf.sub(t, mean)];
};

/** Patterns with places where operands may stand either way: how many, the op, and the pattern. */
const PATTERNS: readonly [string, PassName, RegExp, number, (o: Order[]) => tf.Tensor][] = [
  ["layer norm by hand", "rewrite", /_LayerNorm/, 4, ([o, p, q, r]) => {
    const [, d] = moments(place([3, 4]));
    const spread = o(tf.add)(tf.mean(tf.square(d), -1, true), tf.constant(1e-3));
    const [scale, offset] = [place([4], "s"), place([4], "o")];
    return r(tf.add)(q(tf.mul)(p(tf.mul)(d, tf.rsqrt(spread)), scale), offset);
  }],
  ["layer norm by a factor", "rewrite", /_LayerNorm/, 3, ([o, p, q]) => {
    const [, d] = moments(place([3, 4]));
    const spread = tf.add(tf.mean(tf.mul(d, d), -1, true), 1e-3);
    const [scale, offset] = [place([4], "s"), place([4], "o")];
    return q(tf.add)(p(tf.mul)(d, o(tf.mul)(tf.rsqrt(spread), scale)), offset);
  }],
  ["layer norm as layers are exported", "rewrite", /_LayerNorm/, 5, ([o, p, q, r, u]) => {
    const t = place([3, 4]), mean = tf.mean(t, -1, true);
    const variance = tf.mean(o(tf.squaredDifference)(t, mean), -1, true);
    const [scale, offset] = [place([4], "s"), place([4], "o")];
    const factor = p(tf.mul)(tf.rsqrt(tf.add(variance, 1e-3)), scale);
    return u(tf.add)(q(tf.mul)(t, factor), tf.sub(offset, r(tf.mul)(mean, factor)));
  }],
  ["cross entropy", "rewrite", /SoftmaxCrossEntropyWithLogits/, 1, ([o]) => {
    const [labels, logits] = [place([3, 4], "labels"), place([3, 4], "logits")];
    return tf.neg(tf.sum(o(tf.mul)(labels, tf.logSoftmax(logits)), -1));
  }],
  ["attention with a mask", "attention", /_FusedAttention/, 2, ([o, p]) => {
    const [q, k, v] = ["q", "k", "v"].map((name) => place([2, 5, 4], name));
    const seen = range(25).map((i) => i % 5 <= Math.floor(i / 5) ? 0 : -1e9);
    const scores = o(tf.mul)(tf.matMul(q, k, false, true), tf.constant(0.5));
    return tf.matMul(tf.softmax(p(tf.add)(scores, tf.tensor(seen, [5, 5]))), v);
  }],
];

for (const [name, pass, op, places, build] of PATTERNS) {
  Deno.test(`${name} is one op, whichever way its operands stand`, () => {
    for (const list of orders(places)) {
      const lines = optimized(() => build(list), [pass]);
      assertEquals(lines.filter((l) => op.test(l)).length, 1, lines.join("\n"));
      assert(!lines.some((l) => /(Mean|Softmax|LogSoftmax|BatchMatMulV2)\(/.test(l)));
    }
  });
}

Deno.test("a quotient and a difference are no patterns the other way round", () => {
  const e = (t: tf.Tensor): tf.Tensor => tf.exp(tf.sub(tf.max(t, -1, true), t));
  const build = (): tf.Tensor => tf.div(e(place([3, 4])), tf.sum(e(place([3, 4])), -1, true));
  assertEquals(count(build, /Softmax/, ["rewrite"]), 0);
});

/** An elementwise reader of a product is done where its sums are stored, for these shapes of its operand beside float32[3,4]. */
const OPERANDS: readonly [(number | null)[], boolean][] = [
  [[4], true],
  [[1, 4], true],
  [[], true],
  [[1, 1], true],
  [[1], true],
  [[3, 4], true],
  [[3, 1], false],
  [[null, 4], false],
];

Deno.test("a reader joins a product where its operand is one number, a row or as large", () => {
  for (const [shape, joins] of OPERANDS) {
    for (const order of ORDERS) {
      const build: Build = () =>
        order(tf.add)(tf.matMul(place([3, 5]), place([5, 4], "w")), place(shape, "bias"));
      const text = `[${shape}]`;
      assertEquals(count(build, /= MatMul.* with epilogue/, ["epilogue"]), joins ? 1 : 0, text);
      assertEquals(count(build, /= (AddV2|MatMul)/, ["epilogue"]), joins ? 1 : 2, text);
    }
  }
});

Deno.test("a reader joins a product while there are buffers for its operands", () => {
  // With the product's two and the result, eight.
  for (const [operands, joins] of [[1, true], [5, true], [6, false]] as const) {
    const build: Build = () => {
      const product = tf.matMul(place([3, 5], "a"), place([5, 4], "b"));
      return tf.addN([product, ...places(operands, [3, 4])]);
    };
    assertEquals(
      count(build, /= MatMul.* with epilogue/, ["epilogue"]),
      joins ? 1 : 0,
      `${operands}`,
    );
  }
});

Deno.test("fuse() joins ops while there are buffers for their inputs", () => {
  for (const [inputs, kernels] of [[7, 1], [8, 2], [13, 2], [14, 3]]) {
    const build: Build = () => places(inputs).reduce((a, b) => tf.maximum(a, b));
    assertEquals(count(build, /= (_FusedPointwise|Maximum)/, ["fuse"]), kernels, `${inputs}`);
  }
});

Deno.test("fuse() computes again what at most four ops read, and what is cheap", () => {
  const build = (readers: number, cheap: (t: tf.Tensor) => tf.Tensor): Build => () => {
    const t = place([4]), a = cheap(t);
    // Readers that no pass joins with each other, and one that needs the array anyway.
    return [...range(readers).map((i) => tf.cumsum(tf.mul(tf.exp(a), place([4], `q${i}`)))), t];
  };
  const twice = (t: tf.Tensor): tf.Tensor => tf.mul(t, 2);
  const kernels = (b: Build): number => count(b, /= (Mul|Tanh|Exp|_FusedPointwise)/, ["fuse"]);
  assertEquals(kernels(build(4, twice)), 4);
  assertEquals(kernels(build(5, twice)), 5 + 1);
  assertEquals(kernels(build(3, tf.tanh)), 3 + 1);
});

Deno.test("mergePointwise() makes ops of as many outputs as there are buffers for", () => {
  for (const [readers, kernels] of [[7, 1], [8, 2], [14, 2], [15, 3]]) {
    const build: Build = () => {
      const t = place([4]);
      return range(readers).map((i) => tf.mul(t, i + 2));
    };
    assertEquals(count(build, /= (_FusedPointwise|Mul)/, ["merge"]), kernels, `${readers}`);
  }
});

Deno.test("mergePointwise() joins readers of one array between which others stand", () => {
  const build: Build = () => {
    const t = place([4]);
    return range(6).map((i) => i % 2 ? tf.device("/CPU:0", () => tf.mul(t, i)) : tf.mul(t, i));
  };
  assertEquals(count(build, /= (_FusedPointwise|Mul)/, ["merge"]), 2);
});

Deno.test("sums of columns are grouped by sixteen, where they have at most 1024 rows", () => {
  const sums = (list: readonly number[]): Build => () =>
    list.map((rows, i) => tf.sum(place([rows, 2], `s${i}`), 0));
  for (const [n, groups, alone] of [[2, 1, 0], [16, 1, 0], [17, 1, 1], [18, 2, 0]]) {
    const build = sums(range(n).map(() => 8));
    assertEquals(count(build, /= _GroupedColumnSum/, ["group"]), groups, `${n}`);
    assertEquals(count(build, /= Sum/, ["group"]), alone, `${n}`);
  }
  for (
    const [axes, groups] of [[0, 1], [-2, 1], [1, 0], [[0, 1], 0], [[1, 0], 0], [[], 0]] as const
  ) {
    const build: Build = () => places(2, [8, 3]).map((x) => tf.sum(x, axes as number | number[]));
    assertEquals(count(build, /= _GroupedColumnSum/, ["group"]), groups, `over ${axes}`);
  }
  assertEquals(count(sums([1024, 1024]), /= _GroupedColumnSum/, ["group"]), 1);
  assertEquals(count(sums([1024, 1025]), /= _GroupedColumnSum/, ["group"]), 0);
});

Deno.test("cse() compares constants of up to 64 elements by value", () => {
  const build = (n: number): Build => () =>
    range(2).map(() => tf.add(place([n]), tf.constant(range(n))));
  const consts = (n: number): number => count(build(n), /= Const/, ["cse"]);
  assertEquals([consts(64), consts(65)], [1, 2]);
});

Deno.test("constants are folded where they have at most 16384 elements, inputs included", () => {
  const build = (n: number): Build => () => tf.neg(tf.constant(range(n)));
  assertEquals(count(build(8192), /= Neg/, []), 0);
  assertEquals(count(build(8193), /= Neg/, []), 1);
});

Deno.test("two reductions compute their elements themselves while that reads no more than storing them", () => {
  const both = (large: number, small = 0): Build => () => {
    const [first, ...others] = [
      ...places(large, [4, 64]),
      ...range(small).map((i) => place([64], `s${i}`)),
    ];
    const y = others.reduce((a, b) => tf.add(a, b), first);
    return [tf.sum(y, -1), tf.max(y, -1)];
  };
  const stored = [both(2), both(3), both(3, 1), both(4), both(4, 1)].map((build) =>
    count(build, /= (_FusedPointwise|AddV2)\(/)
  );
  assertEquals(stored, [0, 0, 0, 1, 1]);
});

Deno.test("updates are grouped with all their arrays where rule, constants and scalars are the same", () => {
  const step = (i: number, rate: tf.Tensor, momentum = 0.9): tf.Tensor[] => {
    const [v, slot, gradient] = ["v", "slot", "gradient"].map((name) => place([i + 2], name + i));
    return apply(lookupOp("_ApplyMomentum")!, [v!, slot!, rate, gradient!], {
      T: "float32",
      momentum,
      use_nesterov: false,
    });
  };
  const inputsOf = (build: Build): number[] =>
    optimized(build, ["group"]).flatMap((line) =>
      /_GroupedUpdate\((.*)\) :/.exec(line)?.[1]?.split(", ").length ?? []
    );
  const rate = (name = "rate"): tf.Tensor => place([], name);
  const shared = (n: number): Build => () => {
    const r = rate();
    return range(n).flatMap((i) => step(i, r));
  };
  // The rate once, and three arrays of each variable; sixteen at most.
  assertEquals([1, 2, 3, 17].map((n) => inputsOf(shared(n))), [[], [7], [10], [49]]);
  assertEquals(inputsOf(() => [...step(0, rate()), ...step(1, rate("other"))]), []);
  assertEquals(
    inputsOf(() => {
      const r = rate();
      return [...step(0, r), ...step(1, r, 0.5)];
    }),
    [],
  );
});
