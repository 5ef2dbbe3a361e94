import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";

/** Fields of a TensorProto, and the elements of shape [3] that they mean. */
const CASES: Record<string, [string, Record<string, unknown>, unknown]> = {
  float32: ["DT_FLOAT", { floatVal: [1.5, -2, "Infinity"] }, [1.5, -2, Infinity]],
  "float32, repeated": ["DT_FLOAT", { floatVal: [1, 2] }, [1, 2, 2]],
  "float32, none": ["DT_FLOAT", {}, [0, 0, 0]],
  float64: ["DT_DOUBLE", { doubleVal: [0.1] }, [0.1, 0.1, 0.1]],
  float16: ["DT_HALF", { halfVal: [0x3c00, 0xc000] }, [1, -2, -2]],
  bfloat16: ["DT_BFLOAT16", { halfVal: [0x3f80] }, [1, 1, 1]],
  int32: ["DT_INT32", { intVal: [-1, 7] }, [-1, 7, 7]],
  uint8: ["DT_UINT8", { intVal: [200] }, [200, 200, 200]],
  int64: ["DT_INT64", { int64Val: ["9007199254740993", -1] }, [9007199254740993n, -1n, -1n]],
  bool: ["DT_BOOL", { boolVal: [true, false] }, [true, false, false]],
  complex64: ["DT_COMPLEX64", { scomplexVal: [1, 2, 3, 4] }, [[1, 2], [3, 4], [3, 4]]],
};

for (const [name, [dtype, values, wanted]] of Object.entries(CASES)) {
  Deno.test(`importGraphDef() reads ${name} constants from their own field`, async () => {
    const tensor = { dtype, tensorShape: { dim: [{ size: "3" }] }, ...values };
    const def = {
      node: [{ name: "c", op: "Const", attr: { dtype: { type: dtype }, value: { tensor } } }],
    };
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(def as never, { prefix: "" }));
    await using session = new tf.Session({ graph });
    const out = await session.run("c:0") as tf.NdArray;
    assertEquals(out.toArray() as unknown, wanted);
  });
}
