/** Dataset graphs that TensorFlow wrote give the elements that TensorFlow gives. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { buildDataset } from "../../../src/cluster/data_service/dataset_graph.ts";
import { graph } from "./graphs.ts";

const VERSIONS = { producer: 2000 };

const ELEMENTS = JSON.parse(
  Deno.readTextFileSync(new URL("../fixtures/elements.json", import.meta.url)),
) as Record<string, unknown[]>;

/** An element as the fixtures have it: numbers, and lists of strings. */
function plain(x: unknown): unknown {
  if (Array.isArray(x)) return x.length === 1 ? plain(x[0]) : x.map(plain);
  const array = x as tf.NdArray;
  if (array.dtype === "string") return array.strings();
  const numbers = (v: unknown): unknown => Array.isArray(v) ? v.map(numbers) : Number(v);
  return numbers(array.toArray());
}

for (const [name, wanted] of Object.entries(ELEMENTS)) {
  Deno.test(`a graph of TensorFlow's runs: ${name}`, async () => {
    const { dataset } = await buildDataset(await graph(name));
    const seen: unknown[] = [];
    for await (const element of dataset.asNumpyIterator()) seen.push(plain(element));
    // Pairs whose second is a pair are one list here.
    assertEquals(seen.flat(Infinity), wanted.flat(Infinity));
    assertEquals(seen.length, wanted.length);
  });
}

Deno.test("a graph's script is called by its token", async () => {
  const { dataset } = await buildDataset(await graph("scripts"), {
    scripts: { "test.script@1": (x: tf.NdArray) => 10n * (x.item() as bigint) },
  });
  const seen = await Array.fromAsync(dataset.asNumpyIterator(), (x) => plain(x));
  assertEquals(seen, Array.from({ length: 20 }, (_, i) => 10 * i));
});

Deno.test("a graph names all ops and scripts that are not here", async () => {
  const error = await assertRejects(
    () => graph("unknown").then((g) => buildDataset(g)),
    tf.errors.NotFoundError,
  );
  assertStringIncludes(error.message, "'ReadFile' at node");
  assertStringIncludes(error.message, "'Fact' at node");
  await assertRejects(
    () => graph("scripts").then((g) => buildDataset(g)),
    tf.errors.NotFoundError,
    '"test.script@1"',
  );
});

Deno.test("a graph from elsewhere cannot write files, unless the op is allowed by name", async () => {
  const def = {
    versions: VERSIONS,
    node: [
      {
        name: "n",
        op: "Const",
        attr: {
          dtype: { type: "DT_STRING" },
          value: { tensor: { dtype: "DT_STRING", stringVal: ["eA=="] } },
        },
      },
      { name: "save", op: "MergeV2Checkpoints", input: ["n", "n"] },
      {
        name: "ds",
        op: "TensorDataset",
        input: ["n", "^save"],
        attr: { Toutput_types: { list: { type: ["DT_STRING"] } } },
      },
      { name: "out", op: "_Retval", input: ["ds"] },
    ],
  };
  await assertRejects(() => buildDataset(def), tf.errors.NotFoundError, "MergeV2Checkpoints");
  const { dataset } = await buildDataset(def, { allowOps: ["MergeV2Checkpoints"] });
  assertEquals(await Array.fromAsync(dataset.asNumpyIterator(), (x) => plain(x)), [["x"]]);
});

Deno.test("a shuffled graph gives all elements, in the same order for the same seed", async () => {
  const order = async (): Promise<unknown[]> => {
    const { dataset } = await buildDataset(await graph("shuffled"));
    return await Array.fromAsync(dataset.asNumpyIterator(), (x) => plain(x));
  };
  const [a, b] = [await order(), await order()];
  assertEquals(a, b);
  assertEquals(
    [...a].sort((x, y) => Number(x) - Number(y)),
    Array.from({ length: 50 }, (_, i) => i),
  );
});

Deno.test("a graph that has no end or no dataset is refused", async () => {
  await assertRejects(
    () => buildDataset({ node: [], versions: VERSIONS }),
    tf.ValueError,
    "no _Retval",
  );
  const def = {
    versions: VERSIONS,
    node: [
      {
        name: "c",
        op: "Const",
        attr: { dtype: { type: "DT_INT32" }, value: { tensor: { dtype: "DT_INT32" } } },
      },
      { name: "r", op: "_Retval", input: ["c"] },
    ],
  };
  await assertRejects(() => buildDataset(def), tf.errors.UnimplementedError, "it is no dataset op");
});
