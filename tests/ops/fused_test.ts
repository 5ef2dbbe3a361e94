/** The ops that plans make of others: every kernel against the CPU, over shapes with edges. */
import { assertEquals } from "@std/assert";
import { argument, type Expr, scalar as s } from "../../src/engine/core/scalar/expr.ts";
import { type FusedReduction, fusedReduction, withEpilogue } from "../fusions.ts";
import { ofTheDay } from "../effort.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { noise, vector } from "./values.ts";

const arg = (n: number): Expr[] => Array.from({ length: n }, (_, i) => argument(i));
const float = (n: number): string[] => new Array<string>(n).fill("float32");

testOnGpu("fused pointwise kernels agree with the CPU", async () => {
  const [a, b, c] = arg(3);
  const exprs = [s.mul(s.tanh(s.add(a, b)), s.select(s.gt(c, 0), a, s.neg(c)))];
  const shapes: number[][][] = [
    [[7], [7], [7]],
    [[16], [16], [16]],
    [[3, 5], [5], [3, 1]],
    [[2, 1, 4], [3, 1], []],
    [[1031], [1], [1031]],
    [[0], [0], [1]],
  ];
  for (const list of shapes) {
    const inputs = list.map((shape, i) => noise("float32", shape, i + 1));
    await compareVariants("_FusedPointwise", inputs, { exprs, Tin: float(3), Tout: float(1) }, {
      absolute: 1e-6,
    });
  }
});

testOnGpu("reductions of what is computed on the way agree with the CPU", async () => {
  const [a, b, c] = arg(3);
  const sum = s.add(s.mul(a, b), c), truth = s.gt(s.add(a, b), c);
  const finish = s.add(s.mul(a, b), 0.5);
  const cases: [number[], number[], number[], number[]][] = [
    [[7], [7], [], [0]],
    [[3, 5], [5], [3, 1], [1]],
    [[3, 5], [5], [3, 1], [0]],
    [[6, 12], [12], [6, 1], [0]],
    [[64, 12], [64, 1], [12], [0]],
    [[700, 12], [12], [700, 1], [0]],
    [[2, 3, 4], [3, 1], [2, 1, 4], [0, 2]],
    [[3, 1031], [3, 1], [1031], [1]],
    [[3, 2064], [3, 1], [2064], [1]],
    [[9001], [], [1], [0]],
    [[40, 300], [300], [40, 1], [0, 1]],
    [[2, 0, 3], [3], [], [1]],
  ];
  for (const [i, [x, y, z, axes]] of ofTheDay([...cases.entries()], 3)) {
    // Kernels differ by shape; two of the others go with each.
    const others = i % 2 ? ["Max", "Any"] : ["Mean", "Prod"];
    const keep_dims = axes.length === 1;
    const operands = [x, y, z].map((shape, i) => noise("float32", shape, i + 1));
    const kept = x.flatMap((n, i) => (axes.includes(i) ? (keep_dims ? [1] : []) : [n]));
    const further = [noise("float32", kept, 4), noise("float32", [], 5)];
    const run = (op: string, rest: Partial<FusedReduction>): Promise<unknown> => {
      const all = { operands, axes: vector(...axes), expr: sum, ...rest };
      const { inputs, attrs } = fusedReduction(all, { keep_dims });
      return compareVariants(op, inputs, attrs, { absolute: 2e-4 });
    };
    await run("Sum", {});
    await run(i % 2 ? "Mean" : "Min", { finish: s.sub(finish, c), further });
    for (const op of others) {
      const expr = op === "Prod" ? s.add(1, s.mul(sum, 1e-4)) : op === "Any" ? truth : sum;
      await run(op, { expr, dtype: op === "Any" ? "bool" : "float32" });
    }
  }
  const operands = [[9, 33], [33], []].map((shape, i) => noise("float32", shape, i + 1));
  for (const axis of [0, 1]) {
    const all = { operands, axes: vector(axis), expr: truth, dtype: "bool" } as const;
    const { inputs, attrs } = fusedReduction(all);
    await compareVariants("All", inputs, attrs, {});
  }
});

testOnGpu("matrix products with an epilogue agree with the CPU", async () => {
  const [sum, bias, residual, factor] = arg(4);
  const expr = s.add(s.max(s.mul(s.add(sum, bias), factor), 0), residual);
  const cases: [number, number, number, boolean, boolean][] = [
    [1, 1, 1, false, false],
    [3, 5, 7, true, true],
    [33, 65, 17, false, true],
    [128, 10, 256, true, false],
    [1, 300, 40, false, false],
    [64, 64, 2048, false, false],
  ];
  for (const [m, n, k, transpose_a, transpose_b] of ofTheDay(cases, 3)) {
    const inputs = [
      noise("float32", transpose_a ? [k, m] : [m, k], 1),
      noise("float32", transpose_b ? [n, k] : [k, n], 2),
      noise("float32", [n], 3),
      noise("float32", [m, n], 4),
      noise("float32", [], 5),
    ];
    const attrs = withEpilogue({ transpose_a, transpose_b }, expr, ["column", "element", "all"]);
    await compareVariants("MatMul", inputs, attrs, { absolute: 1e-5 * Math.sqrt(k) });
  }
});

testOnGpu("convolutions and batches of products with an epilogue agree with the CPU", async () => {
  const [sum, bias, residual] = arg(3);
  const expr = s.max(s.add(s.add(sum, bias), residual), 0);
  const conv = (padding: string, stride: number) => ({
    strides: [1, stride, stride, 1],
    padding,
    explicit_paddings: [],
    data_format: "NHWC",
    dilations: [1, 1, 1, 1],
  });
  const cases: [string, number[], number[], number[], Record<string, unknown>][] = [
    ["BatchMatMulV2", [3, 5, 7], [3, 7, 4], [3, 5, 4], { adj_x: false, adj_y: false }],
    ["BatchMatMulV2", [2, 1, 16, 8], [3, 12, 8], [2, 3, 16, 12], {
      adj_x: false,
      adj_y: true,
    }],
    ["BatchMatMulV2", [2, 64, 65], [2, 64, 33], [2, 65, 33], {
      adj_x: true,
      adj_y: false,
    }],
    ["Conv2D", [2, 7, 9, 3], [3, 3, 3, 8], [2, 7, 9, 8], conv("SAME", 1)],
    ["Conv2D", [1, 8, 8, 4], [3, 3, 4, 5], [1, 3, 3, 5], conv("VALID", 2)],
    ["Conv2D", [2, 6, 6, 8], [1, 1, 8, 16], [2, 6, 6, 16], conv("SAME", 1)],
    ["Conv3D", [1, 4, 5, 6, 3], [2, 3, 3, 3, 8], [1, 4, 5, 6, 8], {
      ...conv("SAME", 1),
      strides: [1, 1, 1, 1, 1],
      data_format: "NDHWC",
      dilations: [1, 1, 1, 1, 1],
    }],
    ["DepthwiseConv2dNative", [2, 7, 9, 4], [3, 3, 4, 1], [2, 7, 9, 4], conv("SAME", 1)],
    ["DepthwiseConv2dNative", [1, 8, 8, 3], [3, 3, 3, 2], [1, 3, 3, 6], conv("VALID", 2)],
  ];
  for (const [op, a, b, out, own] of ofTheDay(cases, 3)) {
    const inputs = [
      noise("float32", a, 1),
      noise("float32", b, 2),
      noise("float32", [out.at(-1)!], 3),
      noise("float32", out, 4),
    ];
    const attrs = withEpilogue(own, expr, ["column", "element"]);
    await compareVariants(op, inputs, attrs, { absolute: 1e-4 });
  }
});

testOnGpu("grouped updates agree with the CPU, however many buffers an adapter binds", async () => {
  const [rate, v, m, g] = arg(4);
  const next = s.add(s.mul(m, 0.9), g);
  const exprs = [s.sub(v, s.mul(rate, next)), next];
  for (const sizes of [[1], [5, 3], [256, 10, 1, 77], [16, 16, 16, 16, 16, 16, 16, 16, 16]]) {
    const inputs = [
      noise("float32", [], 9),
      ...sizes.flatMap((n, i) => [0, 1, 2].map((k) => noise("float32", [n], 10 * i + k))),
    ];
    const attrs = {
      exprs,
      scalars: 1,
      arrays: 3,
      Tin: float(inputs.length),
      Tout: float(2 * sizes.length),
    };
    const ran = await compareVariants("_GroupedUpdate", inputs, attrs, { absolute: 1e-6 });
    assertEquals([...ran], ["grouped"]);
  }
});

testOnGpu("grouped column sums agree with the CPU", async () => {
  const shapes = [[128, 10], [128, 256], [128], [1, 3], [1000, 7]];
  const inputs = shapes.map((shape, i) => noise("float32", shape, i + 1));
  const attrs = { shapes: shapes.map((shape) => shape.slice(1)), scales: [1, 1, 1 / 128, 1, 0.5] };
  await compareVariants("_GroupedColumnSum", inputs, attrs, { absolute: 1e-4 });
});
