/**
 * Keras models frozen by TensorFlow 2.21 compute what they did there (make_frozen_fixtures.py). `WEFT_FROZEN_MODELS=FOLDER/` takes those of a
 * folder instead, such as the large ones that the script writes.
 */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { readGraphDef } from "@weft/weft/tf";
import { assertClose } from "./close.ts";
import { testOnDevices } from "../devices.ts";

const FOLDER = new URL(Deno.env.get("WEFT_FROZEN_MODELS") ?? "./fixtures/frozen/", import.meta.url);

interface Expected {
  readonly output: string;
  readonly inputs: readonly {
    readonly name: string;
    readonly dtype: tf.DType;
    readonly shape: number[];
    readonly values: tf.TensorLike;
  }[];
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

const names = [...Deno.readDirSync(FOLDER)].map((f) => f.name)
  .filter((n) => n.endsWith(".json")).map((n) => n.replace(".json", "")).sort();

for (const name of names) {
  testOnDevices(`a frozen model "${name}" computes what it did in TensorFlow`, async () => {
    const { output, inputs, shape, values }: Expected = JSON.parse(
      Deno.readTextFileSync(new URL(`${name}.json`, FOLDER)),
    );
    const file = await Deno.open(new URL(`${name}.pb.gz`, FOLDER));
    const def = await readGraphDef(
      file.readable.pipeThrough(new DecompressionStream("gzip")) as ReadableStream<Uint8Array>,
    );
    const graph = new tf.Graph();
    const [y] = graph.asDefault(() =>
      tf.importGraphDef(def, { prefix: "", returnElements: [output] })
    ) as tf.Tensor[];
    const feeds = Object.fromEntries(
      inputs.map((i) => [i.name, tf.tensor(i.values, i.shape, i.dtype)]),
    );
    const result = await new tf.Session({ graph }).run(y, { feeds }) as tf.NdArray;
    assertEquals(result.shape, shape);
    assertClose(result.toArray(), values, 1e-4, name);
  });
}
