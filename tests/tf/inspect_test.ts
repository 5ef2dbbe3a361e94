/** Output of `inspect` for a model's file, and files of `convert`. */

import { assert, assertEquals } from "@std/assert";
import { describeModel, readModel } from "../../src/tensorflow/files/inspect.ts";

const folder = new URL("./fixtures/", import.meta.url).pathname;

Deno.test("inspect tells signatures, ops and that nothing is missing", async () => {
  const lines = describeModel(await readModel(`${folder}module`));
  assert(lines[0].startsWith("SavedModel, "), lines[0]);
  assert(lines.includes("signature serving_default"), lines.join("\n"));
  assert(lines.some((l) => /^ +\d+ VarHandleOp$/.test(l)), lines.join("\n"));
  assertEquals(lines.at(-1), "nothing is missing");
});

Deno.test("inspect tells what methods were traced for", async () => {
  const lines = describeModel(await readModel(`${folder}objects`));
  for (const line of ["power(int32[2], 3)", "rows(ragged float32[?,?])"]) {
    assert(lines.includes(`method ${line}`), lines.join("\n"));
  }
});

Deno.test("inspect tells missing ops with their nodes", () => {
  const lines = describeModel({
    kind: "GraphDef",
    def: {
      node: [{ name: "a", op: "NoSuchOp", input: [], attr: {} }],
      versions: { producer: 1 },
    },
    signatures: [],
  });
  assertEquals(lines.slice(-2), ["missing NoSuchOp at a", "1 ops are missing"]);
});

Deno.test("convert writes a graph model as a GraphDef", async () => {
  const to = await Deno.makeTempFile({ suffix: ".pb" });
  const { code, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", "--import-map", "tests/npm_only/import_map.json"],
      ...["src/tensorflow/mod.ts", "convert", `${folder}ops.pb`, to],
    ],
  }).output();
  assertEquals(code, 0, new TextDecoder().decode(stderr));
  const [a, b] = [await readModel(`${folder}ops.pb`), await readModel(to)];
  assertEquals(describeModel(b), describeModel(a));
});
