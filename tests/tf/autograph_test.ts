/** Graphs of AutoGraph's functions and of TensorFlow 1, read: lists and texts in loops and branches, functions as ops. See `make_autograph_fixtures.py`. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { readGraphDef } from "@weft/weft/tf";
import { UnimplementedError } from "../../src/engine/core/errors.ts";
import { testOnDevices } from "../devices.ts";
import table from "./fixtures/autograph/autograph.json" with { type: "json" };

interface Fixture {
  readonly name: string;
  readonly feed: string;
  readonly fetches: readonly string[];
  readonly cases: readonly {
    readonly input: readonly (number | string)[];
    readonly outputs: readonly {
      readonly shape: readonly number[];
      readonly data: readonly unknown[];
    }[];
  }[];
}

const plainText = (v: unknown): unknown =>
  v instanceof Uint8Array ? new TextDecoder().decode(v) : v;
const FOLDER = new URL("fixtures/autograph/", import.meta.url);

for (const { name, feed, fetches, cases } of table as readonly Fixture[]) {
  testOnDevices(`importGraphDef() computes ${name} as TensorFlow does`, async () => {
    const def = await readGraphDef(new URL(`${name}.pb`, FOLDER));
    const graph = new tf.Graph();
    const outputs = graph.asDefault(() =>
      tf.importGraphDef(def, { prefix: "", returnElements: [...fetches] })
    ) as tf.Tensor[];
    const session = new tf.Session({ graph });
    for (const { input, outputs: wanted } of cases) {
      const found = await session.run(outputs, { feeds: { [feed]: input as never } });
      const plain = found.map((value, k) => {
        const array = value instanceof tf.NdArray
          ? value
          : tf.tensor(value as number, [], outputs[k].dtype).ndarraySync();
        return { shape: [...array.shape], data: [array.toArray()].flat(9).map(plainText) };
      });
      assertEquals(
        plain,
        wanted.map(({ shape, data }) => ({ shape: [...shape], data: [...data] })),
      );
    }
    await session.close();
  });
}

testOnDevices("importGraphDef() says where the rows of a list differ in shape", async () => {
  const node = (name: string, op: string, input: string[], attr: tf.NodeDefJson["attr"] = {}) => ({
    name,
    op,
    input,
    attr,
  });
  const ints = (name: string, values: number[], shape: number[]) => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.constant(values, "int32", shape));
    return { ...graph.toGraphDef().node[0], name };
  };
  const element: tf.NodeDefJson["attr"] = {
    element_dtype: { type: "DT_FLOAT" },
    shape_type: { type: "DT_INT32" },
  };
  const feed = (name: string) => node(name, "Placeholder", [], { dtype: { type: "DT_FLOAT" } });
  const lists: Record<string, tf.NodeDefJson[]> = {
    pushed: [
      node("empty", "EmptyTensorList", ["any", "one"], element),
      node("first", "TensorListPushBack", ["empty", "x"], element),
      node("second", "TensorListPushBack", ["first", "y"], element),
    ],
    written: [
      node("empty", "TensorListReserve", ["any", "two"], element),
      node("first", "TensorListSetItem", ["empty", "zero", "x"], element),
      node("second", "TensorListSetItem", ["first", "one", "y"], element),
    ],
  };
  for (const [name, nodes] of Object.entries(lists)) {
    const graph = new tf.Graph();
    const [rows] = graph.asDefault(() =>
      tf.importGraphDef({
        node: [
          ints("any", [-1], []),
          ints("zero", [0], []),
          ints("one", [1], []),
          ints("two", [2], []),
          feed("x"),
          feed("y"),
          ...nodes,
          node("rows", "TensorListStack", ["second", "any"], element),
        ],
        versions: { producer: 1 },
      }, { prefix: "", returnElements: ["rows:0"] })
    ) as tf.Tensor[];
    const session = new tf.Session({ graph });
    const same = await session.run(rows, { feeds: { "x:0": [1, 2], "y:0": [3, 4] } }) as tf.NdArray;
    assertEquals(same.toArray(), [[1, 2], [3, 4]], name);
    await assertRejects(
      () => session.run(rows, { feeds: { "x:0": [1, 2], "y:0": [3] } }),
      UnimplementedError,
      "Cannot put a row of shape [1] into a list whose rows have shape [2]",
      name,
    );
    await session.close();
  }
});

testOnDevices("importGraphDef() adds texts as TensorFlow's Add does", async () => {
  const graph = new tf.Graph();
  const feed = (name: string) => ({
    name,
    op: "Placeholder",
    attr: { dtype: { type: "DT_STRING" } },
  });
  const node = [feed("x"), feed("y"), {
    name: "z",
    op: "Add",
    input: ["x", "y"],
    attr: { T: { type: "DT_STRING" } },
  }];
  const [z] = graph.asDefault(() =>
    tf.importGraphDef({ node, versions: { producer: 1 } }, { prefix: "", returnElements: ["z:0"] })
  ) as tf.Tensor[];
  const cases: [x: unknown, y: unknown, z: unknown][] = [
    [["a", "b"], ["c", "d"], ["ac", "bd"]],
    [["a", "b"], "c", ["ac", "bc"]],
    [[["a"], ["b"]], ["c", "d"], [["ac", "ad"], ["bc", "bd"]]],
  ];
  for (const [x, y, wanted] of cases) {
    const found = await new tf.Session({ graph }).run(z, {
      feeds: { "x:0": x, "y:0": y } as never,
    }) as tf.NdArray;
    assertEquals([found.toArray()].flat(9).map(plainText), [wanted].flat(9));
    assertEquals(found.shape, tf.tensor(wanted as string[]).shape);
  }
});
