/** The command of npm's package, and the modules that its bundlers may leave out. */

import * as tf from "@weft/weft";
import { encodeGraphDef } from "@weft/weft/tf";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { capture } from "../tools/command.ts";
import { read, readConfig, ROOT } from "../tools/files.ts";
import { findNode } from "../tools/node.ts";
import { packageFolder } from "../tools/npm.ts";
import { putPackage } from "./built.ts";

const node = await findNode();

/** A folder with the installed package, and with what reads models beside it. */
const home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft_command_" }));
const installed = `${home}/node_modules/@weft/weft`, others = `${home}/node_modules/@bufbuild`;
const command = `${installed}/command.js`;

Deno.test.beforeAll(async () => {
  await putPackage(installed, { types: false });
  await Deno.mkdir(others);
  await Deno.symlink(await packageFolder("@bufbuild/protobuf"), `${others}/protobuf`);
});
Deno.test.afterAll(() => Deno.remove(home, { recursive: true }));

Deno.test("no pattern of the package's side effects is of all files of a folder", () => {
  const { sideEffects, bin } = JSON.parse(read(`${installed}/package.json`));
  // Rolldown reads `./*.js` as all files below, webpack as those of the folder.
  for (const pattern of sideEffects) assert(!/(^|\/)\*\.js$/.test(pattern), pattern);
  for (const name of Object.keys(readConfig().exports)) {
    const file = name === "." ? "./mod.js" : `${name}.js`;
    assert(sideEffects.includes(file), file);
  }
  assertEquals(bin, { weft: "./command.js" });
});

Deno.test("the command of the package tells what is in a model and converts it, in Deno and Node", async () => {
  const graph = new tf.Graph();
  graph.asDefault(() => tf.square(tf.placeholder("float32", [2], "x")));
  await Deno.writeFile(`${home}/m.pb`, encodeGraphDef(graph.toGraphDef()));
  const inDeno = ["run", "-A", "--no-config", "--import-map", `${ROOT.pathname}import_map.json`];
  const programs = [
    [Deno.execPath(), ...inDeno, command],
    [Deno.execPath(), ...inDeno, `${installed}/tf.js`],
    ...(node === null ? [] : [[node, command]]),
  ];
  for (const [i, [program, ...args]] of programs.entries()) {
    const run = (...rest: string[]) => capture(program!, [...args, ...rest]);
    const told = await run("inspect", `${home}/m.pb`);
    assertEquals([told.code, told.stderr], [0, ""]);
    assertStringIncludes(told.stdout, "input x: [2]");
    assertEquals((await run("convert", `${home}/m.pb`, `${home}/${i}/model.json`)).code, 0);
    assertStringIncludes(read(`${home}/${i}/model.json`), "modelTopology");
    const none = await run("inspect", `${home}/none.pb`);
    assertEquals([none.code, none.stdout], [2, ""]);
    assertStringIncludes(none.stderr, "none.pb: there is no such file");
    assertStringIncludes((await run("--help")).stdout, "usage: inspect MODEL");
  }
});

Deno.test({
  name: "the command of the package says which package it wants where there is none [node]",
  ignore: node === null,
  async fn() {
    await Deno.rename(others, `${home}/elsewhere`);
    const { code, stdout, stderr } = await capture(node!, [command, "inspect", "m.onnx"]);
    await Deno.rename(`${home}/elsewhere`, others);
    assertEquals([code, stdout], [2, ""]);
    assertEquals(stderr.trim().split("\n").length, 1, stderr);
    assertStringIncludes(stderr, "npm install @bufbuild/protobuf");
  },
});
