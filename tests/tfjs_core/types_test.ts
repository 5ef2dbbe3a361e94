/** Programs as TensorFlow.js's users write them type-check unchanged, with each TypeScript that they may have. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import { assertEquals, assertStringIncludes } from "@std/assert";
import { buildTfjsCore } from "../../tools/package/stand_ins.ts";
import { capture } from "../../tools/command.ts";
import { npmFolder } from "../../tools/npm.ts";
import { fromFileUrl } from "../../tools/paths.ts";
import { read } from "../../tools/files.ts";
import { putPackage } from "../built.ts";

const PROGRAMS = ["data", "gradients", "layers", "regression", "transfer"] as const;

/** The oldest that is still used, the last of each line, and the native one. */
const COMPILERS = {
  "5.4": "npm:typescript@5.4.5/tsc",
  "5.9": "npm:typescript@5.9.3/tsc",
  "6.0": "npm:typescript@6.0.3/tsc",
  "7.0": "npm:typescript@7.0.2/tsc",
  "7.0, its preview": "npm:@typescript/native-preview@7.0.0-dev.20260707.2/tsgo",
} as const;

let home = "";

Deno.test.beforeAll(async () => {
  home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft-types-" }));
  const modules = `${home}/node_modules`;
  await putPackage(`${modules}/@weft/weft`);
  await buildTfjsCore(`${modules}/@tensorflow/tfjs-core`);
  const layers = fromFileUrl(await npmFolder("@tensorflow/tfjs-layers"));
  await Deno.symlink(layers, `${modules}/@tensorflow/tfjs-layers`, { type: "dir" });
  for (const name of PROGRAMS) {
    await Deno.writeTextFile(`${home}/${name}.mts`, read(`tests/tfjs_core/programs/${name}.txt`));
  }
  await Deno.writeTextFile(`${home}/wrong.mts`, WRONG);
  const compilerOptions = {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    module: "ESNext",
    moduleResolution: "Bundler",
    target: "ES2022",
    lib: ["ES2020", "DOM"],
    types: [],
    preserveSymlinks: true,
  };
  for (
    const [config, files] of [["right", PROGRAMS.map((name) => `${name}.mts`)], ["wrong", [
      "wrong.mts",
    ]]] as const
  ) {
    await Deno.writeTextFile(`${home}/${config}.json`, JSON.stringify({ compilerOptions, files }));
  }
});
Deno.test.afterAll(() => Deno.remove(home, { recursive: true }));

/** Code that must not type-check: a type that became `any` is noticed. */
const WRONG = `
import * as tf from "@tensorflow/tfjs-core";
const x = tf.tensor1d([1, 2]);
const a: string = x.dataSync()[0];
const b: string = (await x.array())[0];
const c: string = x.sum();
tf.tidy(1);
x.nothing();
`;

async function compile(compiler: string, config: string): Promise<string> {
  const args = [
    "run",
    "--quiet",
    "-A",
    "--no-config",
    "--node-modules-dir=none",
    compiler,
    "-p",
    `${home}/${config}.json`,
  ];
  const { stdout, stderr } = await capture(Deno.execPath(), args, { timeoutMs: 300_000 });
  return stdout + stderr.replaceAll(/^(Download|Initialize|Check) .*\n?/gm, "");
}

for (const [version, compiler] of Object.entries(COMPILERS)) {
  Deno.test(`programs of TensorFlow.js type-check with TypeScript ${version}`, async () => {
    assertEquals(await compile(compiler, "right"), "");
  });
}

Deno.test("what is wrong in such a program is found", async () => {
  const found = await compile(COMPILERS["6.0"], "wrong");
  for (const line of [4, 5, 6, 7, 8]) assertStringIncludes(found, `wrong.mts(${line},`);
});
