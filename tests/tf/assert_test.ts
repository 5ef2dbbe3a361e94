/** Assert in imported graphs. */

import { assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";

const FLOAT = { type: "DT_FLOAT" };

/** `y = -x`, which waits for the check that `x < 3`. */
function checked(): Parameters<typeof tf.importGraphDef>[0] {
  const constant = (name: string, tensor: Record<string, unknown>) => ({
    name,
    op: "Const",
    input: [],
    attr: { dtype: { type: String(tensor.dtype) }, value: { tensor } },
  });
  return {
    node: [
      { name: "x", op: "Placeholder", input: [], attr: { dtype: FLOAT, shape: { shape: {} } } },
      constant("three", { dtype: "DT_FLOAT", tensorShape: {}, floatVal: [3] }),
      constant("text", {
        dtype: "DT_STRING",
        tensorShape: {},
        stringVal: [btoa("x is not small:")],
      }),
      { name: "small", op: "Less", input: ["x", "three"], attr: { T: FLOAT } },
      {
        name: "check",
        op: "Assert",
        input: ["small", "text", "x"],
        attr: { T: { list: { type: ["DT_STRING", "DT_FLOAT"] } }, summarize: { i: "3" } },
      },
      { name: "y", op: "Neg", input: ["x", "^check"], attr: { T: FLOAT } },
    ],
    versions: { producer: 1 },
  } as Parameters<typeof tf.importGraphDef>[0];
}

testOnDevices("Assert fails the run of what waits for it, and says what it was given", async () => {
  const graph = new tf.Graph();
  const [y] = graph.asDefault(() =>
    tf.importGraphDef(checked(), { prefix: "", returnElements: ["y:0"] })
  ) as tf.Tensor[];
  const session = new tf.Session({ graph });
  assertEquals(await session.run(y, { feeds: { "x:0": 2 } }), -2);
  const error = await assertRejects(
    () => session.run(y, { feeds: { "x:0": 4 } }) as Promise<unknown>,
    tf.errors.InvalidArgumentError,
    "assertion failed: [x is not small:] [4]",
  );
  assertEquals((error as tf.errors.InvalidArgumentError).node, "check");
});
