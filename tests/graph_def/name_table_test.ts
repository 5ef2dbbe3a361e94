/** The table of TensorFlow's public names, and the page that is written from it. */

import { assert, assertEquals } from "@std/assert";
import * as tf from "../../mod.ts";
import { read } from "../../tools/files.ts";
import { DOCUMENT, nameTableText, resolve, rowsOf } from "../../tools/structure/name_table.ts";
import { ELSEWHERE, LEFT_OUT } from "../../tools/structure/names_elsewhere.ts";
import NAMES from "../../tools/structure/tensorflow_names.json" with { type: "json" };

const public_ = new Set(
  Object.entries(NAMES).flatMap(([space, names]) => names.map((name) => `${space}.${name}`)),
);

Deno.test("docs/tensorflow_names.md lists TensorFlow's names", async () => {
  assert(
    read(DOCUMENT).replaceAll(/\s+/g, " ").trim() ===
      (await nameTableText()).replaceAll(/\s+/g, " ").trim(),
    'Run "deno task op-table"',
  );
});

Deno.test("names of other names are there, and none is listed that is where it is looked for", () => {
  const exports = tf as unknown as Record<string, unknown>;
  for (const [name, here] of Object.entries(ELSEWHERE)) {
    assert(public_.has(name), `${name} is no name of TensorFlow's`);
    // Words stand for what is no function.
    if (/^[\w.]+$/.test(here)) assert(resolve(exports, here) !== undefined, here);
  }
  const left = Object.values(LEFT_OUT).flat();
  assertEquals(left.filter((name) => !public_.has(name)), []);
  assertEquals(left.filter((name, i) => left.indexOf(name) !== i), []);
  for (const space of Object.keys(NAMES)) {
    for (const { name, place } of rowsOf(space, exports)) {
      if (place === "other") continue;
      assertEquals(ELSEWHERE[`${space}.${name}`], undefined, `${space}.${name}`);
      assertEquals(left.includes(`${space}.${name}`), false, `${space}.${name}`);
    }
  }
});
