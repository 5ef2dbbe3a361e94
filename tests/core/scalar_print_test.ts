/** Printers of scalar expressions: what they hide from compilers, how much they look at, and what fits the uniform block. */
import { assert, assertEquals } from "@std/assert";
import type { Profile } from "../../src/engine/core/dispatch.ts";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import type { DType } from "../../src/engine/core/dtype.ts";
import {
  argument,
  type Expr,
  exprKey,
  exprType,
  keep,
  scalar as s,
} from "../../src/engine/core/scalar/expr.ts";
import { constantValue, printJs } from "../../src/engine/core/scalar/js.ts";
import { printWgsl } from "../../src/engine/core/scalar/wgsl.ts";
import { Engine } from "../../src/engine/devices/cpu/engine.ts";
import { preparePointwise } from "../../src/engine/devices/cpu/pointwise/pointwise.ts";
import { collapseBroadcast } from "../../src/engine/kernels/pointwise/broadcast.ts";
import { interpretLoop, pointwiseCpu, sumOf } from "../../src/engine/kernels/host/pointwise.ts";
import { pointwiseGpu } from "../../src/engine/kernels/pointwise/variants.ts";

const x = argument(0);

Deno.test("keep() hides a float from WGSL compilers and is nothing to other printers", () => {
  const kept = s.sub(keep(s.mul(x, 0)), keep(s.mul(x, 0), true));
  const { lines, results } = printWgsl([kept], ["float32"], ["v0"]);
  const text = [...lines, ...results].join("\n");
  assert(/bitcast<f32>\(bitcast<u32>\(t\d\) \^ p\.zero_\)/.test(text), text);
  assert(/bitcast<f32>\(bitcast<u32>\(t\d\) \+ p\.zero_\)/.test(text), text);
  assert(!printWgsl([kept], ["int32"], ["v0"]).lines.join().includes("zero_"));
  assertEquals(printJs([kept], ["float32"], [["a"]]).lines.length, 2 + 1);
  assertEquals(exprType(kept, ["float16"]), "float16");
  assert(exprKey(keep(x)) !== exprKey(keep(x, true)));
  const out = new NdArray("float32", [3], new Float32Array(3));
  const a = new NdArray("float32", [3], Float32Array.of(1, NaN, Infinity));
  pointwiseCpu([kept], [a], [out]);
  assertEquals([...out.data as Float32Array], [0, NaN, NaN]);
  const closures = new Float32Array(3);
  interpretLoop([kept], ["float32"])([a.data], [closures], collapseBroadcast([3], [[3]]));
  assertEquals([...closures], [0, NaN, NaN]);
});

Deno.test("printers look at each part of an expression a few times, however long it is", () => {
  const looks = (depth: number, print: (e: Expr) => void): number => {
    let count = 0;
    let e: Expr = argument(0);
    for (let i = 0; i < depth; i++) {
      const args: readonly Expr[] = [e, argument(1)];
      e = {
        op: i % 2 ? "mul" : "add",
        get args() { // As any reader of the expression does.
          count++;
          return args;
        },
      };
    }
    print(e);
    return count;
  };
  const dtypes = ["float32", "float32"] as const, spec = { dtype: "float32" as const, shape: [8] };
  const printers: Record<string, (e: Expr) => void> = {
    WGSL: (e) => printWgsl([e], dtypes, ["a", "b"]),
    JavaScript: (e) => printJs([e], dtypes, [["a"], ["b"]]),
    closures: (e) => interpretLoop([e], dtypes),
    key: (e) => exprKey(e),
    type: (e) => exprType(e, dtypes),
    "vector code": (e) => {
      const engine = new Engine();
      preparePointwise(engine, [e], [spec, spec], [8]);
    },
  };
  for (const [name, print] of Object.entries(printers)) {
    const few = looks(50, print), many = looks(500, print);
    assert(many <= 11 * few && many > 0, `${name}: ${few} at 50, ${many} at 500`);
  }
});

Deno.test("pointwiseGpu() fits its words, their count and a zero into the uniform block, or bakes them in", () => {
  const profile: Profile = {
    barriers: true,
    subgroup: 0,
    subgroupDirective: false,
    lanes: 8,
    f16: false,
    words64: false,
    maxBinding: 2 ** 27,
    maxBuffers: 16,
    maxInvocations: 256,
    maxWorkgroupBytes: 16384,
    maxGrid: 65535,
  };
  const shape = [2, 3, 2, 3, 2, 3];
  // Operands stretched along other axes each.
  const ins = Array.from({ length: 13 }, (_, k) => ({
    dtype: "float32" as const,
    shape: k === 12 ? shape : shape.map((d, i) => ((k >> (i % 4)) & 1 ? d : 1)),
  }));
  const most = new Set<number>();
  for (let n = 2; n <= ins.length; n++) {
    const [{ program, params }] = pointwiseGpu(
      [keep(sumOf(n))],
      ins.slice(-n),
      { dtype: "float32", shape },
      profile,
    ).dispatches;
    const fields = /struct Params \{([^}]*)\}/.exec(program.source)![1].match(/: u32/g)!.length;
    assertEquals(fields, params.length + 1, `${n} operands`);
    assert(fields <= 64, `${n} operands: ${fields}`);
    most.add(fields);
  }
  // A count and a zero where all is baked in.
  assert(most.has(2) && most.size > 3, [...most].join());
});

Deno.test("constants are what their dtype holds", () => {
  const cases: [number, DType, number | bigint | boolean][] = [
    [16777217, "int32", 16777217],
    [4294967295, "uint32", 4294967295],
    [-2.7, "int8", -2],
    [2.7, "uint8", 2],
    [2.7, "int64", 2n],
    [-5, "int64", -5n],
    [2.5, "bool", true],
    [0, "bool", false],
    [0.1, "float32", Math.fround(0.1)],
    [0.1, "complex64", Math.fround(0.1)],
    [0.1, "float64", 0.1],
    [0.1, "complex128", 0.1],
  ];
  for (const [v, dtype, wanted] of cases) assertEquals(constantValue(v, dtype), wanted, dtype);
});
