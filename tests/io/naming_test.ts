/** Errors of reading a file name it, once. */

import * as tf from "@weft/weft";
import { assertEquals, assertStrictEquals } from "@std/assert";
import { naming, namingAsync } from "../../src/library/io/naming.ts";

/** Returns the converted error. */
async function namedOf(error: unknown): Promise<unknown> {
  const fail = () => {
    throw error;
  };
  let now: unknown, later: unknown;
  try {
    naming("a.npz", fail);
  } catch (e) {
    now = e;
  }
  try {
    await namingAsync("a.npz", () => Promise.reject(error));
  } catch (e) {
    later = e;
  }
  const facts = (e: unknown) => e instanceof Error ? [e.constructor, e.message] : e;
  assertEquals(facts(now), facts(later));
  return now;
}

Deno.test("typed errors keep their class and details, and name the file where they do not already", async () => {
  assertEquals([naming("a", () => 1), await namingAsync("a", () => Promise.resolve(2))], [1, 2]);
  const details = { op: "Const", node: "c" };
  const typed = new tf.errors.InvalidArgumentError("Cannot make it", details);
  const { op, node, message, cause } = await namedOf(typed) as tf.errors.InvalidArgumentError;
  assertEquals([op, node], ["Const", "c"]);
  assertEquals(message.split("\n")[0], "Cannot load a.npz: Cannot make it");
  assertStrictEquals(cause, typed);
  for (const Typed of [tf.ValueError, tf.errors.DataLossError, tf.RuntimeError]) {
    const named = await namedOf(new Typed("Cannot read a.npz: it is cut")) as Error;
    assertEquals([named.constructor, named.message], [Typed, "Cannot read a.npz: it is cut"]);
  }
});

Deno.test("what no check foresaw is data that was lost, and what is no error stays what it is", async () => {
  const bare = new RangeError("Invalid array length");
  const lost = await namedOf(bare) as Error;
  assertEquals(lost instanceof tf.errors.DataLossError, true);
  assertEquals(lost.message, "Cannot load a.npz: it is damaged (Invalid array length)");
  assertStrictEquals(lost.cause, bare);
  assertEquals(await namedOf("a word"), "a word");
});
