/** Training graphs of TensorFlow 1: imported, initialised and trained here they lose what they lost there. */
import * as tf from "@weft/weft";
import { readGraphDef } from "@weft/weft/tf";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const FOLDER = new URL("./fixtures/", import.meta.url).pathname;

interface Expected {
  readonly uninitialized: readonly string[];
  readonly losses: readonly number[];
  readonly w2: readonly number[];
  readonly steps: number;
}

/** Name suffix of each kind of variable's read. */
const KINDS = { ref: "", resource: "/Read/ReadVariableOp" } as const;

for (const [kind, read] of Object.entries(KINDS)) {
  testOnDevices(`six steps of Adam on ${kind} variables give TensorFlow's losses`, async () => {
    const def = await readGraphDef(`${FOLDER}training_${kind}.pb`);
    const expected: Expected = JSON.parse(
      await Deno.readTextFile(`${FOLDER}training_${kind}.json`),
    );
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
    const session = new tf.Session({ graph });
    const before = await session.run("uninitialized:0") as tf.NdArray;
    assertEquals(before.strings(), [...expected.uninitialized]);
    await session.run("init");
    assertEquals((await session.run("uninitialized:0") as tf.NdArray).strings(), []);
    const feeds = {
      "x:0": new tf.NdArray(
        "float32",
        [32, 8],
        Float32Array.from({ length: 256 }, (_, i) => Math.sin(i * 12.9898)),
      ),
      "labels:0": Int32Array.from({ length: 32 }, (_, i) => i * 7 % 4),
    };
    for (const loss of expected.losses) {
      const [, total] = await session.run(["train", "total:0"], { feeds }) as [null, number];
      assert(Math.abs(total - loss) < 1e-5, `${total}, TensorFlow has ${loss}`);
    }
    const names = graph.asDefault(() => tf.compat.v1.globalVariables()).map((v) => v.name);
    assertEquals(names, [...expected.uninitialized], "they are the graph's variables");
    assertEquals(await session.run(`net/steps${read}:0`), BigInt(expected.steps));
    const w2 = await session.run(`net/w2${read}:0`) as tf.NdArray;
    for (const [i, v] of (w2.data as Float32Array).entries()) {
      assert(Math.abs(v - expected.w2[i]) < 1e-5, `${i}: ${v}, TensorFlow has ${expected.w2[i]}`);
    }
  });
}

const float = { T: { type: "DT_FLOAT" } };
const variable = {
  name: "v",
  op: "VariableV2",
  attr: { dtype: { type: "DT_FLOAT" }, shape: { shape: { dim: [] } } },
};

function constant(name: string, value: number) {
  const tensor = { dtype: "DT_FLOAT", tensorShape: {}, floatVal: [value] };
  return { name, op: "Const", attr: { dtype: { type: "DT_FLOAT" }, value: { tensor } } };
}

testOnDevices("references are read after the op that hands them on", async () => {
  const node = [
    variable,
    constant("two", 2),
    constant("three", 3),
    { name: "v/Assign", op: "Assign", input: ["v", "two"], attr: float },
    { name: "more", op: "AssignAdd", input: ["v", "three"], attr: float },
    { name: "same", op: "RefIdentity", input: ["more"], attr: float },
    { name: "square", op: "Square", input: ["same"], attr: float },
    { name: "again", op: "AssignAdd", input: ["same", "square"], attr: float },
  ];
  const graph = new tf.Graph();
  graph.asDefault(() => tf.importGraphDef({ node, versions: { producer: 1 } }, { prefix: "" }));
  const session = new tf.Session({ graph });
  assertEquals(await session.run("v/Assign:0"), 2);
  assertEquals(await session.run("v:0"), 2);
  assertEquals(await session.run(["again:0", "square:0"]), [30, 25]);
  assertEquals(await session.run("v:0"), 30);
});

Deno.test("importGraphDef() names an op that writes to what is no variable", () => {
  const node = [
    constant("two", 2),
    { name: "bad", op: "Assign", input: ["two", "two"], attr: float },
  ];
  assertThrows(
    () => new tf.Graph().asDefault(() => tf.importGraphDef({ node, versions: { producer: 1 } })),
    tf.ValueError,
    'node "bad" (Assign) writes to "two", which is no variable',
  );
});
