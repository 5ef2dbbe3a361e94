/** Paths that are URLs of files, as `import.meta.resolve` and TensorFlow write them. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { pathToFileURL } from "node:url";
import { capture } from "../../tools/command.ts";

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
  const folder = await Deno.makeTempDir({ prefix: "weft_urls_" });
  try {
    await Deno.mkdir(`${folder}/in`);
    await Deno.writeTextFile(`${folder}/in/x.csv`, "a,b\n1,2\n");
    // A process of its own: tests of other files share the working directory of this one.
    const program = `import * as tf from ${JSON.stringify(import.meta.resolve("@weft/weft"))};
      for (const path of ["file://x.csv", "file://./x.csv", "file://../in/x.csv", "FILE://x.csv"]) {
        // Another name of float32.
        const rows = await tf.data.csv(path, { columns: { a: "float" } }).toArray();
        console.log(path, ...rows.map(({ a }) => a.item()));
      }
      await tf.data.textLines("file://./none.txt").toArray().catch((e) => console.log(e.name));`;
    const { code, stdout, stderr } = await capture(
      Deno.execPath(),
      ["eval", "--no-check", "--no-config", program],
      { cwd: `${folder}/in` },
    );
    assertEquals(code, 0, stderr);
    assertEquals(stdout.trim().split("\n"), [
      "file://x.csv 1",
      "file://./x.csv 1",
      "file://../in/x.csv 1",
      "FILE://x.csv 1",
      "NotFoundError",
    ]);
    const url = new URL(`file://localhost${folder}/in/x.csv`);
    for (const path of [url, String(url), `file://localhost${folder}/in/x.csv`]) {
      assertEquals((await tf.data.csv(path, { columns: { a: "float32" } }).toArray()).length, 1);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});
