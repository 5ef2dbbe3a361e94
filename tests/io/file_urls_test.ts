/** Paths that are URLs of files, as `import.meta.resolve` and TensorFlow write them. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { pathToFileURL } from "node:url";

Deno.test("a text that is a URL of a file names that file, for readers and writers", async () => {
  const folder = await Deno.makeTempDir({ prefix: "a b%ü " });
  try {
    const url = (name: string): string => String(pathToFileURL(`${folder}/${name}`));
    await Deno.writeTextFile(`${folder}/x.txt`, "one\ntwo");
    const texts = (ds: tf.data.Dataset<tf.Tensor>) =>
      Array.fromAsync(ds.asNumpyIterator(), (x) => x.text());
    assertEquals(await texts(tf.data.textLines(url("x.txt"))), ["one", "two"]);
    const read = tf.data.fromTensorSlices([url("x.txt")]).map((file) => tf.io.readFile(file));
    assertEquals(await texts(read), ["one\ntwo"]);

    const writer = new tf.io.TFRecordWriter(url("x.tfrecord"));
    await writer.write(new TextEncoder().encode("record"));
    await writer.close();
    for (const path of [url("x.tfrecord"), `${folder}/x.tfrecord`]) {
      assertEquals(await texts(tf.data.tfrecord(path)), ["record"]);
    }
    const missing = tf.data.fromTensorSlices([url("none")]).map((file) => tf.io.readFile(file));
    await assertRejects(() => texts(missing), tf.errors.NotFoundError, url("none"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("file:// before a relative path is relative to the working directory, as in TensorFlow.js", async () => {
  const folder = await Deno.makeTempDir({ prefix: "weft_urls_" }), before = Deno.cwd();
  try {
    await Deno.mkdir(`${folder}/in`);
    await Deno.writeTextFile(`${folder}/in/x.csv`, "a,b\n1,2\n");
    Deno.chdir(`${folder}/in`);
    const dtype = "float" as string as "float32"; // another name of float32
    for (const path of ["file://x.csv", "file://./x.csv", "file://../in/x.csv", "FILE://x.csv"]) {
      const rows = await tf.data.csv(path, { columns: { a: dtype } }).toArray();
      assertEquals(rows.map(({ a }) => a.item()), [1], path);
    }
    const url = new URL(`file://localhost${folder}/in/x.csv`);
    for (const path of [url, String(url), `file://localhost${folder}/in/x.csv`]) {
      assertEquals((await tf.data.csv(path, { columns: { a: "float32" } }).toArray()).length, 1);
    }
    await assertRejects(
      () => tf.data.textLines("file://./none.txt").toArray(),
      tf.errors.NotFoundError,
    );
  } finally {
    Deno.chdir(before);
    await Deno.remove(folder, { recursive: true });
  }
});
