/** CSV and JSON lines: calls without options, and quoted fields of any length. */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { effort } from "../effort.ts";

const { data } = tf;
const people = new Blob(["name,age\nAnn,31\n"]);

Deno.test("csv() and jsonl() without options say what they want", () => {
  const { csv, jsonl } = data as unknown as Record<string, (...args: unknown[]) => unknown>;
  assertThrows(() => csv(people), TypeError, "wanted columns, as in { columns:");
  assertThrows(() => csv(people, {}), TypeError, "columns must say what is read");
  for (const args of [[people], [people, {}]]) {
    assertThrows(() => jsonl(...args), TypeError, "wanted what a line holds");
  }
});

Deno.test("csv() reads a quoted field of many lines, closed or not", async () => {
  const lines = effort(20_000, 200_000);
  const text = (end: string): Blob => new Blob([`a,b\n1,"${'x,""y""\n'.repeat(lines)}${end}`]);
  const rows = (file: Blob) =>
    Array.fromAsync(
      data.csv(file, { columns: { a: "int32", b: "string" } }).asNumpyIterator(),
      ({ a, b }) => [a.item(), b.text()],
    );
  const field = 'x,"y"\n'.repeat(lines);
  assertEquals(await rows(text('"\n2,"b"\n')), [[1, field], [2, "b"]]);
  assertEquals(await rows(text('z"')), [[1, `${field}z`]]);
  await assertRejects(() => rows(text("")), tf.errors.InvalidArgumentError, "line 2: Quoted field");
  await assertRejects(() => rows(text('"z\n')), tf.errors.InvalidArgumentError, "line 2: Quote");
});
