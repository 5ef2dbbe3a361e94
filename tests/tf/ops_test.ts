/**
 * Ops of TensorFlow that are written in ours when a graph is imported: what TensorFlow 2.21 computed (make_op_fixtures.py,
 * make_more_op_fixtures.py, make_older_op_fixtures.py, make_recurrent_op_fixtures.py, make_gradient_op_fixtures.py).
 */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { readGraphDef } from "@weft/weft/tf";
import { assertClose } from "./close.ts";
import { testOnDevices } from "../devices.ts";

interface Case {
  readonly tensor: string;
  readonly shape: readonly number[];
  readonly values: readonly (number | string | boolean)[];
}

const FIXTURES = new URL("./fixtures/", import.meta.url);
const FAMILIES = ["ops", "more_ops", "older_ops", "recurrent_ops", "gradient_ops"].flatMap(
  (file) => {
    const all: Case[] = JSON.parse(Deno.readTextFileSync(new URL(`${file}.json`, FIXTURES)));
    const families = Map.groupBy(all, (c) => c.tensor.split("_")[0]!);
    return [...families].map(([family, cases]) => ({ file, family, cases }));
  },
);

for (const { file, family, cases } of FAMILIES) {
  testOnDevices(`imported ${family} compute what TensorFlow's do`, async () => {
    const def = await readGraphDef(new URL(`${file}.pb`, FIXTURES));
    const graph = new tf.Graph();
    const tensors = graph.asDefault(() =>
      tf.importGraphDef(def, { prefix: "", returnElements: cases.map((c) => c.tensor) })
    ) as tf.Tensor[];
    const results = await new tf.Session({ graph }).run(
      tensors,
    ) as unknown as (tf.NdArray | number)[];
    cases.forEach(({ tensor, shape, values }, i) => {
      const y = results[i];
      const array = y instanceof tf.NdArray ? y.toArray() : y;
      assertEquals(y instanceof tf.NdArray ? y.shape : [], shape, tensor);
      const flat = ([array] as unknown[]).flat(3).map((v) =>
        v instanceof Uint8Array ? new TextDecoder().decode(v) : v
      );
      if (values.every((v) => typeof v === "number" && Number.isFinite(v))) {
        assertClose(flat, values, 1e-5, tensor);
      } else assertEquals(flat, [...values], tensor);
    });
  });
}
