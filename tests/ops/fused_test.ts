/** The ops that plans make of others: every kernel against the CPU, over shapes with edges. */
import { assertEquals } from "@std/assert";
import { NdArray } from "@weft/weft";
import { argument, type Expr, scalar as s } from "../../src/core/scalar/expr.ts";
import { compareVariants, noise, testOnGpu } from "./force_variant.ts";

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
  for (const [i, [x, y, z, axes]] of cases.entries()) {
    // Kernels differ by shape; two of the others go with each.
    const others = i % 2 ? ["Max", "Any"] : ["Mean", "Prod"];
    const keep_dims = axes.length === 1;
    const inputs = [
      new NdArray("int32", [axes.length], Int32Array.from(axes)),
      ...[x, y, z].map((shape, i) => noise("float32", shape, i + 1)),
    ];
    const kept = x.flatMap((n, i) => (axes.includes(i) ? (keep_dims ? [1] : []) : [n]));
    const attrs = { keep_dims, Tidx: "int32", Toperand: float(3) };
    const further = [noise("float32", kept, 4), noise("float32", [], 5)];
    const run = (op: string, rest: object, more: typeof further = []): Promise<unknown> =>
      compareVariants(`_Fused${op}`, [...inputs, ...more], {
        ...{ ...attrs, T: "float32", Tfurther: float(more.length), expr: sum },
        ...{ finish: argument(0), ...rest },
      }, { absolute: 2e-4 });
    await run("Sum", {});
    await run(i % 2 ? "Mean" : "Min", { finish: s.sub(finish, c) }, further);
    for (const op of others) {
      const expr = op === "Prod" ? s.add(1, s.mul(sum, 1e-4)) : op === "Any" ? truth : sum;
      await run(op, { expr, T: op === "Any" ? "bool" : "float32" });
    }
  }
  const truths = [[9, 33], [33], []].map((shape, i) => noise("float32", shape, i + 1));
  const all = { Toperand: float(3), Tfurther: [], Tidx: "int32", T: "bool", keep_dims: false };
  for (const axis of [0, 1]) {
    const axes = new NdArray("int32", [1], Int32Array.of(axis));
    const more = { ...all, expr: truth, finish: argument(0) };
    await compareVariants("_FusedAll", [axes, ...truths], more, {});
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
  for (const [m, n, k, transpose_a, transpose_b] of cases) {
    const inputs = [
      noise("float32", transpose_a ? [k, m] : [m, k], 1),
      noise("float32", transpose_b ? [n, k] : [k, n], 2),
      noise("float32", [n], 3),
      noise("float32", [m, n], 4),
      noise("float32", [], 5),
    ];
    const per = ["column", "element", "all"];
    const attrs = { transpose_a, transpose_b, expr, per, Toperand: float(3) };
    await compareVariants("_MatMulEpilogue", inputs, attrs, { absolute: 1e-5 * Math.sqrt(k) });
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
    ["_BatchMatMulV2Epilogue", [3, 5, 7], [3, 7, 4], [3, 5, 4], { adj_x: false, adj_y: false }],
    ["_BatchMatMulV2Epilogue", [2, 1, 16, 8], [3, 12, 8], [2, 3, 16, 12], {
      adj_x: false,
      adj_y: true,
    }],
    ["_BatchMatMulV2Epilogue", [2, 64, 65], [2, 64, 33], [2, 65, 33], {
      adj_x: true,
      adj_y: false,
    }],
    ["_Conv2DEpilogue", [2, 7, 9, 3], [3, 3, 3, 8], [2, 7, 9, 8], conv("SAME", 1)],
    ["_Conv2DEpilogue", [1, 8, 8, 4], [3, 3, 4, 5], [1, 3, 3, 5], conv("VALID", 2)],
    ["_Conv2DEpilogue", [2, 6, 6, 8], [1, 1, 8, 16], [2, 6, 6, 16], conv("SAME", 1)],
    ["_DepthwiseConv2dNativeEpilogue", [2, 7, 9, 4], [3, 3, 4, 1], [2, 7, 9, 4], conv("SAME", 1)],
    ["_DepthwiseConv2dNativeEpilogue", [1, 8, 8, 3], [3, 3, 3, 2], [1, 3, 3, 6], conv("VALID", 2)],
  ];
  for (const [op, a, b, out, own] of cases) {
    const inputs = [
      noise("float32", a, 1),
      noise("float32", b, 2),
      noise("float32", [out.at(-1)!], 3),
      noise("float32", out, 4),
    ];
    const attrs = { ...own, expr, per: ["column", "element"], Toperand: float(2) };
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
