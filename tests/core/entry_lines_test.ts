/** Errors of the functions of the entries beside `.` are the library's, for arguments of every wrong kind. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { fileName } from "../devices.ts";
import {
  before,
  beginsHere,
  ENGINE,
  errorOf,
  functionsOf,
  KINDS,
  TELLING,
} from "./wrong_values.ts";

const HERE = fileName(import.meta.url);

/** Entries with functions of their own, and how many calls each refuses at least. */
const ENTRIES: Readonly<Record<string, readonly [load: () => Promise<object>, refused: number]>> = {
  "./distribute": [() => import("../../src/cluster/mod.ts"), 50],
  "./image": [() => import("../../src/entries/image/mod.ts"), 100],
  "./onnx": [() => import("../../src/onnx/mod.ts"), 200],
  "./ops": [() => import("../../src/entries/ops/mod.ts"), 200],
  "./testing": [() => import("../../src/library/testing/mod.ts"), 70],
  "./tf": [() => import("../../src/tensorflow/mod.ts"), 150],
  "./tfjs": [() => import("../../src/tfjs/exchange/mod.ts"), 100],
};

/** Functions that change the process, write a file wherever a string says, or do what they are told with any value. */
const LEFT_OUT =
  /\.(write|save|createFileWriter|setBackend|ready|nextFrame|print|enable|disable|deprecated|engine|env|dispose|shareDevice|registerBackend|setPlatform|removeBackend|copyRegistered|registerKernel|unregisterKernel)/;
const MORE_KINDS = { ...KINDS, "a whole number": 1n, "a date": new Date(0) };

for (const [entry, [load, least]] of Object.entries(ENTRIES)) {
  Deno.test({
    name: `errors of the functions of ${entry} are the library's and begin at the caller`,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      await tf.setBackend("cpu");
      const { wrong, refused } = await wrongOf(entry, await load());
      assertEquals(wrong, []);
      assertEquals(refused >= least, true, `${refused} calls were refused, wanted ${least}`);
    },
  });
}

async function wrongOf(
  entry: string,
  names: object,
): Promise<{ wrong: string[]; refused: number }> {
  const wrong: string[] = [], good = before();
  let refused = 0;
  for (const [name, fn] of functionsOf(names, entry)) {
    if (LEFT_OUT.test(name)) continue;
    const calls: [kind: string, args: unknown[]][] = [
      ...Object.entries(MORE_KINDS).map(([kind, v]): [string, unknown[]] => [kind, [v, v, v]]),
      ...good.flatMap((args) =>
        TELLING.map((kind): [string, unknown[]] => [kind, [...args, KINDS[kind]]])
      ),
    ];
    for (const [kind, args] of calls) {
      const e = await errorOf(() => fn(...args));
      if (!(e instanceof Error)) continue;
      refused++;
      if (!beginsHere(e, HERE) || ENGINE.test(e.message)) {
        wrong.push(`${name} of ${kind}, argument ${args.length}: ${e.stack?.slice(0, 300)}`);
      }
    }
  }
  return { wrong, refused };
}
