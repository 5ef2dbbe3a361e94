/** Ops that are several in one: against their parts, and against the loops. */

import { assert, assertAlmostEquals } from "@std/assert";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { argument, type Expr, scalar as s } from "../../../src/engine/core/scalar/expr.ts";
import { CpuDevice } from "../../../src/engine/devices/cpu/cpu_device.ts";
import { cpuDevice } from "../../../src/engine/runtime/devices/devices.ts";
import { problemOf, runEagerly } from "../../../src/library/testing/run_op.ts";
import { type Per, withEpilogue } from "../../fusions.ts";
import { ENGINES, randomSource } from "./engines.ts";
import { op, runFast, runLoops } from "./kernel_runs.ts";

const random = randomSource(10);
function make(...shape: number[]): NdArray {
  const x = NdArray.zeros("float32", shape);
  (x.data as Float32Array).forEach((_, i, d) => d[i] = random() - 0.5);
  return x;
}

function assertClose(got: ArrayLike<unknown>, want: ArrayLike<unknown>, text: string): void {
  for (let i = 0; i < want.length; i++) {
    assertAlmostEquals(got[i] as number, want[i] as number, 1e-5, `${text}, element ${i}`);
  }
}

for (const [name, engine] of ENGINES) {
  Deno.test(`products and convolutions with bias and activation are their parts: ${name}`, () => {
    for (const activation of ["Relu", "Sigmoid", "Prelu", null]) {
      for (const bias of [make(9), make(1), null]) {
        const extra = [...(bias ? [bias] : []), ...(activation === "Prelu" ? [make(9)] : [])];
        const fused_ops = [...(bias ? ["BiasAdd"] : []), ...(activation ? [activation] : [])];
        const apply = (y: NdArray): NdArray => {
          const b = bias ? runLoops(op("AddV2"), [y, bias])[0] : y;
          return activation === null ? b : runLoops(
            op(activation),
            activation === "Prelu" ? [b, extra[extra.length - 1]] : [b],
          )[0];
        };
        const attrs = { fused_ops, num_args: extra.length };
        for (const m of [1, 7, 50]) {
          const a = make(m, 20), b = make(20, 9);
          const got = runFast(engine, op("_FusedMatMul"), [a, b, ...extra], attrs);
          assert(got !== null);
          assertClose(
            got[0].data,
            apply(runLoops(op("MatMul"), [a, b])[0]).data,
            `matMul ${m} ${fused_ops}`,
          );
        }
        const window = { strides: [1, 1, 1, 1], padding: "SAME" };
        const x = make(30, 20, 20, 3), filter = make(3, 3, 3, 9);
        const got = runFast(engine, op("_FusedConv2D"), [x, filter, ...extra], {
          ...attrs,
          ...window,
        });
        assert(got !== null);
        assertClose(
          got[0].data,
          apply(runLoops(op("Conv2D"), [x, filter], window)[0]).data,
          `conv2d ${fused_ops}`,
        );
      }
    }
  });

  Deno.test(`an epilogue reads operands per element through all blocks: ${name}`, () => {
    const expr = s.add(argument(0), s.mul(argument(1), argument(2)));
    const attrs = withEpilogue({}, expr, ["element", "column"]);
    const [a, b, residual, scale] = [make(7000, 5), make(5, 6), make(7000, 6), make(6)];
    const got = runFast(engine, op("MatMul"), [a, b, residual, scale], attrs)![0];
    const product = runLoops(op("MatMul"), [a, b])[0];
    const want = runLoops(op("AddV2"), [product, runLoops(op("Mul"), [residual, scale])[0]])[0];
    assertClose(got.data, want.data, "epilogue");
  });

  Deno.test(`convolutions end with an epilogue: ${name}`, () => {
    const expr = s.max(s.add(s.add(argument(0), argument(1)), argument(2)), 0);
    const window = {
      strides: [1, 1, 1, 1],
      padding: "SAME",
      explicit_paddings: [],
      dilations: [1, 1, 1, 1],
    };
    const cases: [string, number[], number[], Per[]][] = [
      ["Conv2D", [3, 3, 4, 8], [2, 7, 9, 8], ["column", "element"]],
      ["Conv2D", [1, 1, 4, 5], [2, 7, 9, 5], ["element", "column"]],
      // A large image, which is cut.
      ["Conv2D", [3, 2, 1, 2], [2, 530, 500, 2], ["column", "element"]],
      ["DepthwiseConv2dNative", [3, 3, 4, 1], [2, 7, 9, 4], ["column", "all"]],
    ];
    for (const [base, filter, out, per] of cases) {
      const shapes = { column: [out[3]], element: out, all: [] };
      const rest = per.map((p) => make(...shapes[p]));
      const inputs = [make(...out.slice(0, 3), filter[2]), make(...filter), ...rest];
      const got = runFast(engine, op(base), inputs, withEpilogue(window, expr, per));
      assert(got !== null);
      const product = runLoops(op(base), inputs.slice(0, 2), window)[0];
      const sum = rest.reduce((y, r) => runLoops(op("AddV2"), [y, r])[0], product);
      assertClose(got[0].data, runLoops(op("Relu"), [sum])[0].data, base);
    }
  });

  Deno.test(`expressions of several outputs are what the loops give: ${name}`, () => {
    const [x, y] = [argument(0), argument(1)];
    const exprs: Expr[] = [s.add(x, y), s.mul(s.exp(x), y), s.lt(x, y)];
    const attrs = { Tin: ["float32", "float32"], Tout: ["float32", "float32", "bool"], exprs };
    const inputs = [make(5, 7), make(7)];
    const got = runFast(engine, op("_FusedPointwise"), inputs, attrs)!;
    runLoops(op("_FusedPointwise"), inputs, attrs).forEach((w, i) =>
      assertClose(got[i].data, w.data, `output ${i}`)
    );
  });

  Deno.test(`grouped updates reach every member: ${name}`, () => {
    const [rate, variable, gradient] = [0, 1, 2].map(argument);
    const attrs = {
      Tin: new Array(5).fill("float32"),
      Tout: new Array(4).fill("float32"),
      exprs: [s.sub(variable, s.mul(rate, gradient)), s.mul(gradient, gradient)],
      scalars: 1,
      arrays: 2,
    };
    const inputs = [make(), make(3, 5), make(3, 5), make(70), make(70)];
    const got = runFast(engine, op("_GroupedUpdate"), inputs, attrs)!;
    runLoops(op("_GroupedUpdate"), inputs, attrs).forEach((w, i) =>
      assertClose(got[i].data, w.data, `output ${i}`)
    );
  });
}

for (const [name, engine] of ENGINES) {
  Deno.test(`updates of optimizers run in vector code: ${name}`, () => {
    for (const update of ["_ApplyMomentum", "_ApplyAdam"]) {
      const def = op(update);
      const count = def.signature.inputArgs.length, state = def.signature.outputArgs.length;
      const inputs = def.signature.inputArgs.map((
        _,
        i,
      ) => (i < state || i === count - 1 ? make(3, 7) : make()));
      // Slots that are averages of squares are not negative, and rates are below one.
      inputs.forEach((x) => (x.data as Float32Array).forEach((v, i, d) => d[i] = Math.abs(v)));
      const attrs = Object.fromEntries(
        def.signature.attrDefs.filter((a) => a.type === "float").map((a) => [a.name, 0.25]),
      );
      const flags = Object.fromEntries(
        def.signature.attrDefs.filter((a) => a.type === "bool").map((a) => [a.name, false]),
      );
      const got = runFast(engine, def, inputs, { ...attrs, ...flags });
      assert(got !== null, update);
      runLoops(def, inputs, { ...attrs, ...flags }).forEach((w, i) =>
        assertClose(got[i].data, w.data, `${update} ${i}`)
      );
    }
  });
}

for (const [name, engine] of ENGINES) {
  Deno.test(`batches of products end with an epilogue: ${name}`, () => {
    const [sum, bias, residual, factor] = [0, 1, 2, 3].map(argument);
    const expr = s.add(s.max(s.mul(s.add(sum, bias), factor), -0.25), residual);
    const per: Per[] = ["column", "element", "all"];
    const cases: [number[], number[], boolean, boolean][] = [
      [[2, 7, 5], [2, 5, 9], false, false],
      [[3, 2, 16, 20], [2, 20, 24], false, false],
      [[5, 33, 40], [5, 17, 40], false, true],
      [[4, 40, 33], [4, 40, 17], true, false],
      [[1, 3, 12, 9], [2, 1, 9, 10], false, false],
      [[2, 300, 310], [2, 310, 500], false, false],
    ];
    for (const [x, y, adj_x, adj_y] of cases) {
      const a = make(...x), b = make(...y), attrs = { adj_x, adj_y };
      const [product] = runLoops(op("BatchMatMulV2"), [a, b], attrs);
      const n = product.shape[product.rank - 1];
      const extra = [make(n), make(...product.shape), make()];
      const [p, o, r] = [product, ...extra].map((t) => t.data as Float32Array);
      const f = extra[2].data[0] as number;
      const want = p.map((v, i) => Math.max((v + o[i % n]) * f, -0.25) + r[i]);
      const def = op("BatchMatMulV2");
      const got = runFast(engine, def, [a, b, ...extra], withEpilogue(attrs, expr, per));
      assert(got !== null);
      const scale = Math.sqrt(x[x.length - 1]);
      assertClose(
        Array.from(got[0].data as Float32Array, (v) => v / scale),
        want.map((v) => v / scale),
        `[${x}] · [${y}]`,
      );
    }
    const thin = [make(3, 1, 8), make(3, 8, 9)];
    const attrs = withEpilogue({}, s.add(sum, 1), []);
    assert(runFast(engine, op("BatchMatMulV2"), thin, attrs) === null, "thin");
  });
}

Deno.test("what is fused to an op is never left out where no kernel knows it", async () => {
  const expr = s.add(argument(0), argument(1)), [, engine] = ENGINES[0];
  const [a, b] = [make(3, 5), make(5, 4)], [product] = runLoops(op("MatMul"), [a, b]);
  const one = make();
  // Taken for one per column, of which there are four.
  const attrs = withEpilogue({}, expr, ["column"]);
  assert(runFast(engine, op("MatMul"), [a, b, one], attrs) === null);
  for (const device of [new CpuDevice(null), new CpuDevice(engine)]) {
    assert(device.prepare(op("MatMul"), problemOf(op("MatMul"), [a, b, one], attrs)) === null);
  }
  const [sum] = await runEagerly(op("MatMul"), [a, b, one], attrs, cpuDevice());
  assertClose(
    sum.data,
    (product.data as Float32Array).map((v) => v + Number(one.data[0])),
    "parts",
  );
});
