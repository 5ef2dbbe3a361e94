/** Compilation of the directives in shaders/, and unrolling by parameters. */
import { assertEquals, assertThrows } from "@std/assert";
import {
  ATTENTION_FEW,
  COPY_MAP,
  MATMUL_REGISTER,
  MATMUL_TILED,
  type Shader,
  type ShaderText,
} from "../src/shaders_generated.ts";
import {
  DEPTHWISE_TILE,
  type DepthwiseTile,
} from "../src/engine/kernels/window_shaders_generated.ts";
import * as common from "../src/shaders_generated.ts";
import * as windows from "../src/engine/kernels/window_shaders_generated.ts";
import { makeProgram } from "../src/engine/core/dispatch.ts";
import { list, read } from "../tools/files.ts";
import { generate } from "../tools/shaders.ts";
import { EXPANDED, expansions, type Shaders } from "../tools/shaders/expansion.ts";

const MAIN = `
@group(0) @binding(0) var<storage, read> x: array<T>;
@group(0) @binding(1) var<storage, read_write> y: array<T>;
struct Params {
  n: u32,
  w: f32, //#if FLAG
  d_i: u32, //#for i in 0..N
}
@group(0) @binding(2) var<uniform> p: Params;
@compute @workgroup_size(N, 2)
fn main(@builtin(workgroup_id) wid: vec3<u32>) {
  BODY
}
`;
const DECLARED = `
alias T = f32; //#param The type.
const N = 2u; //#param How many.
const FLAG = true; //#param A flag.
const LIST = array(1); //#param Some numbers.
const VALUE = 0.0; //#text A text.
const M = 1u; //#let N / 2
const i = 0u; //#index
const j = 0u; //#index
const l = 0u; //#lane
fn twice(a: f32) -> f32 { return sum(a, a); } //#inline
fn sum(a: f32, b: f32) -> f32 { return a + b; } //#inline FLAG
//: fn sum(a: f32, b: f32) -> f32 { return max(a, b); } //#inline
`;
const PIECES = `
const COUNT = 1u; //#param How often.
const k = 0u; //#index
//#piece count WHAT S
WHAT_S += COUNT; let S = WHAT;
//#end
`;
const GIVEN = { t: "vec4<f16>", n: 4, flag: true, list: [3, 5], value: "sin(z)", count: 7 };

let modules = 0;

/** The text of a kernel whose body is this. */
async function textOf(body: string, given: object = {}): Promise<ShaderText> {
  const kernel = DECLARED + MAIN.replace("BODY", body);
  const source = `${
    generate([["shaders/a.wgsl", kernel], ["shaders/b.wgsl", PIECES]])
  }//${modules++}`;
  const module = await import(`data:text/typescript,${encodeURIComponent(source)}`);
  return (module.A as Shader<object>).of({ ...GIVEN, ...given })[1]();
}

/** Directives, what they become with GIVEN, and what with `flag: false`. */
const BECOMES:
  readonly (readonly [what: string, body: string, wanted: string, without?: string])[] = [
    ["parameters", "let a = N * M + T(VALUE) + p.N;", "let a = 4u * 2u + vec4<f16>(sin(z)) + p.N;"],
    ["bindings", "y[0] = x[1]; p.x = q.y;", "out0[0] = in0[1]; p.x = q.y;"],
    ["comments", "a = b; // not this\n  // nor this", "a = b;"],
    ["lines of cases", "//: a = b;", "a = b;"],
    ["lines of the file alone", "a = b; //#alone\n  c = d;", "c = d;"],
    ["conditions", "a(); //#if FLAG && N == 4\n  b(); //#if !FLAG", "a();", "b();"],
    [
      "cases",
      "//#if !FLAG\n a();\n //#elif N > 8\n b();\n //#else\n c();\n //#end",
      "c();",
      "a();",
    ],
    [
      "loops",
      "//#for i in 0..M\n s_i = v_i_a + i;\n //#end",
      "s_0 = v_0_a + 0u;\ns_1 = v_1_a + 1u;",
    ],
    [
      "loops on a line",
      "s_i_j = 0; //#for i in 0..2, j in i..2",
      "s_0_0 = 0;\ns_0_1 = 0;\ns_1_1 = 0;",
    ],
    ["loops that join", "let a =\n v_i //#for i in 0..3 sep +\n ;", "let a =\nv_0 + v_1 + v_2\n;"],
    ["loops that count", "//#for i = N; i > 0; i >>= 1\n f(i);\n //#end", "f(4u);\nf(2u);\nf(1u);"],
    ["lanes", "a[l] = b[l] + l; //#for l in 0..2", "a.x = b.x + 0u;\na.y = b.y + 1u;"],
    [
      "numbers",
      "//#for i in 0..2\n //#let j = LIST[i] + 1\n s_j = j;\n //#end",
      "s_4 = 4u;\ns_6 = 6u;",
    ],
    [
      "inline functions",
      "a = sum(b, c) * sum(d, e);",
      "a = (b + c) * (d + e);",
      "a = (max(b, c)) * (max(d, e));",
    ],
    ["inline functions alone", "a = sum(b, c); f(sum(d, e), 1);", "a = b + c; f(d + e, 1);"],
    [
      "inline in inline",
      "a = twice(b * c) - twice(sum(d, e));",
      "a = ((b * c) + (b * c)) - ((d + e) + (d + e));",
    ],
    ["slots", "//#slot own What one wants.\n a();\n //#end", "a();"],
    ["pieces", "//#include b.wgsl count WHAT = z; S = i", "z_i += 7u; let i = z;"],
  ];

for (const [what, body, wanted, without] of BECOMES) {
  Deno.test(`shaders: ${what} become text`, async () => {
    assertEquals((await textOf(body)).body.trim(), wanted);
    if (without !== undefined) {
      assertEquals((await textOf(body, { flag: false })).body.trim(), without);
    }
  });
}

Deno.test("shaders: slots take what they are given", async () => {
  const { body } = await textOf("//#slot own What one wants.\n a();\n //#end", { own: "b();" });
  assertEquals(body.trim(), "b();");
});

Deno.test("shaders: types, uniform fields and workgroups are data", async () => {
  const { inputs, outputs, params, workgroup } = await textOf("a();", { n: 2, flag: false });
  assertEquals({ inputs, outputs, params, workgroup }, {
    inputs: ["vec4<f16>"],
    outputs: ["vec4<f16>"],
    params: ["n", "d_0", "d_1"],
    workgroup: [2, 2, 1],
  });
});

for (
  const [what, body, message] of [
    [
      "a name that is not declared",
      "a(); //#if WIDE",
      "shaders/a.wgsl:25: WIDE is not declared",
    ],
    ["a block without end", "//#if FLAG", "A block has no end"],
    ["an end without block", "//#end", "Nothing is open here"],
    ["a directive that is none", "a(); //#when FLAG", "Unknown directive when"],
    ["a piece that is not there", "//#include b.wgsl none", "shaders/b.wgsl has no such piece"],
    ["a file that is not there", "//#include c.wgsl none", "There is no shaders/c.wgsl"],
    ["a piece without its names", "//#include b.wgsl count WHAT = a", "it takes WHAT, S"],
  ] as const
) {
  Deno.test(`shaders: ${what} is refused`, () => {
    const kernel = DECLARED + MAIN.replace("BODY", body);
    assertThrows(
      () => generate([["shaders/a.wgsl", kernel], ["shaders/b.wgsl", PIECES]]),
      Error,
      message.replace("shaders/b.wgsl has", "b.wgsl has"),
    );
  });
}

Deno.test("shaders: a parameter says what it is", () => {
  const kernel = DECLARED + MAIN.replace("BODY", "a();");
  assertThrows(
    () => generate([["shaders/a.wgsl", kernel.replace("//#param How many.", "//#param")]]),
    Error,
    "N has no line that says what it is",
  );
});

const count = (text: ShaderText, what: RegExp): number => [...text.body.matchAll(what)].length;
const FOUR = {
  ...{ a: "vec4<f32>", b: "vec4<f32>", c: "vec4<f32>", acc: "f32" },
  ...{ half: false, halfB: false },
};
const WIDE = {
  wideA: true,
  wideB: true,
  wideC: true,
  accumulate: false,
  split: false,
  batchRank: 0,
};

Deno.test("kernels hold as many sums, loads and products as their tiles say", () => {
  for (const rows of [1, 4, 8]) {
    for (const vecs of [1, 2]) {
      for (
        const [transB, skewB, loads] of [[false, 0, 4 * vecs], [true, 0, 4 * vecs], [
          false,
          1,
          4 * vecs + 3,
        ]] as const
      ) {
        const [, text] = MATMUL_REGISTER.of({
          ...{ ...FOUR, ...WIDE, rows, vecs, transB, skewB },
          ...{ transA: false, tail: false, lanes: 8, across: 0 },
          ...{ norm: false, add: 0, lanesOfRow: 1 },
        });
        assertEquals(count(text(), /^var s_/gm), rows * vecs);
        assertEquals(count(text(), /\bin0\[/g), rows);
        assertEquals(count(text(), /\bin1\[/g), loads);
        assertEquals(count(text(), /^s_\d+_\d+ \+= /gm), 4 * rows * vecs);
        assertEquals(count(text(), /\bout0\[.*finish/g), rows * vecs);
      }
    }
  }
  const tile = { bm: 64, bn: 32, bk: 16, tm: 8, tn: 4 };
  const [, tiled] = MATMUL_TILED.of({ ...FOUR, ...WIDE, ...tile, transA: true, transB: false });
  assertEquals(tiled().workgroup, [64, 1, 1]);
  assertEquals(count(tiled(), /\bs_\d+_\d+ \+= /g), tile.bk * tile.tm * tile.tn / 4);
  assertEquals(count(tiled(), /\bworkgroupBarrier\(/g), 2);
  const [, few] = ATTENTION_FEW.of({ vectors: 16, causal: true, sums: false, threads: 64 });
  assertEquals(count(few(), /\bdot\(/g), 16);
  const [, depthwise] = DEPTHWISE_TILE.of(depthwiseTile(3, 2));
  assertEquals(count(depthwise(), /\bin0\[/g), 25);
  assertEquals(count(depthwise(), /^s_\d+ \+= /gm), 36);
  const [, copy] = COPY_MAP.of({
    ...{ word: "u32", element: "u32", stored: "u32", rules: [0, 1, 7], rank: 3, quad: false },
    ...{ four: false, guarded: true, filled: false, fill: "in1", pieced: false },
  });
  assertEquals(copy().params.length, 3 + 2 + 4 + 4);
  assertEquals(count(copy(), /^ok &= /gm), 1);
});

Deno.test("kernels without f16 have no name that looks like it", () => {
  const [, text] = DEPTHWISE_TILE.of(depthwiseTile(5, 1));
  const { source } = makeProgram({ name: "depthwise", ...text() });
  assertEquals(/\bf16\b/.test(source), false);
});

Deno.test("beside each kernel stands what it is at the parameters in its file", () => {
  const files = list("shaders", ".wgsl").filter((path) => !path.endsWith(EXPANDED))
    .map((path) => [path, read(path)] as const);
  const wanted = expansions(files, { ...common, ...windows } as unknown as Shaders);
  assertEquals(list("shaders", EXPANDED), [...wanted.keys()].sort());
  for (const [path, text] of wanted) assertEquals(read(path), text, "run `deno task shaders`");
});

/** A rectangle of four results of float32. */
function depthwiseTile(taps: number, stride: number): DepthwiseTile {
  return {
    ...{ element: "vec4<f32>", c: "vec4<f32>", acc: "f32", half: false },
    ...{ tapsY: taps, tapsX: taps, strideY: stride, strideX: stride, rows: 2, columns: 2 },
    ...{ backward: false, even: true, workgroup: 64 },
  };
}
