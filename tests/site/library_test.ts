/** Programs of the playground load the parts of the library that they name, and all where names may be computed. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { neededParts, PARTS } from "../../examples/site/library.ts";
import { LESSONS } from "../../examples/site/lessons.ts";
import { read } from "../../tools/files.ts";

const ALL = Object.keys(PARTS);
const HEAD = 'import * as tf from "@weft/weft";\n';

Deno.test("a program loads the parts of the library that it names", () => {
  for (
    const [program, parts] of [
      ["", []],
      [`${HEAD}const x = tf.tensor([1]); console.log(await x.data(), x.image);`, []],
      [`${HEAD}tf.data.range(3)`, ["weft_data"]],
      [`${HEAD}tf\n  .image.flipLeftRight(x)`, ["weft_more"]],
      [`${HEAD}tf?.io.npy`, ["weft_data"]],
      ['import * as $t from "@weft/weft"; $t.train.adam(); t.data', ["weft_train"]],
      ["import { data as d, add } from '@weft/weft';", ["weft_data"]],
      ['import { add } from "@weft/weft"; data', []],
      ['import {\n  importGraphDef,\n  compat,\n} from "@weft/weft";', ["weft_graphs", "weft_v1"]],
      ['import * as a from "@weft/weft"; import * as b from "@weft/weft"; a.data; b.metrics', [
        "weft_data",
        "weft_train",
      ]],
      ['import * as ops from "@weft/weft/ops"; ops.train', []],
    ] as const
  ) assertEquals(neededParts(program), [...parts], program);
});

Deno.test("a program whose names may be computed loads all parts", () => {
  for (
    const program of [
      `${HEAD}tf["da" + "ta"]`,
      `${HEAD}const { data } = tf;`,
      `${HEAD}console.log(tf);`,
      `${HEAD}show({ tf });`,
      `${HEAD}[...tf.tensor([1]).shape, tf]`,
      'export * from "@weft/weft";',
      'const tf = await import("@weft/weft");',
      "const tf = await import(name);",
    ]
  ) assertEquals(neededParts(program), ALL, program);
});

Deno.test("parts export what the library has, and most lessons need none", () => {
  for (const name of Object.values(PARTS).flat()) assertEquals(name in tf, true, name);
  const needs = LESSONS.map((
    { name },
  ) => [name, neededParts(read(`examples/site/lessons/${name}.js`))])
    .filter(([, parts]) => parts!.length > 0);
  assertEquals(Object.fromEntries(needs), {
    data: ["weft_data"],
    graphs: ["weft_v1"],
    images: ["weft_more"],
    training: ["weft_train"],
  });
});
