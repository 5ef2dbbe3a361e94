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

/** Namespaces of TensorFlow.js for backends, which check nothing there either: their values are known to be right. */
const INTERNALS = [
  ...[
    "backend_util",
    "broadcast_util",
    "device_util",
    "gather_util",
    "kernel_impls",
    "scatter_util",
  ],
  ...["serialization", "slice_util", "tensor_util", "test_util", "util"],
];

/** Entries with functions of their own, and how many calls each refuses at least: a file that is not there may be told of too late to count. */
const ENTRIES: Readonly<Record<string, readonly [load: () => Promise<object>, refused: number]>> = {
  "./distribute": [() => import("../../src/cluster/mod.ts"), 50],
  "./image": [() => import("../../src/entries/image/mod.ts"), 100],
  "./onnx": [() => import("../../src/onnx/mod.ts"), 200],
  "./ops": [() => import("../../src/entries/ops/mod.ts"), 200],
  "./testing": [() => import("../../src/library/testing/mod.ts"), 70],
  "./numpy": [ownNames(() => import("../../src/entries/numpy/mod.ts"), ["np"]), 190],
  "./serve": [() => import("../../src/serve/mod.ts"), 100],
  "./tfjs-core": [ownNames(() => import("../../src/tfjs/core/mod.ts"), INTERNALS), 12_500],
  "./tf": [() => import("../../src/tensorflow/mod.ts"), 120],
  "./tfjs": [() => import("../../src/tfjs/exchange/mod.ts"), 100],
};

/** Loads an entry without some of its names, which another package answers for. */
function ownNames(load: () => Promise<object>, others: readonly string[]): () => Promise<object> {
  return async () =>
    Object.fromEntries(Object.entries(await load()).filter(([name]) => !others.includes(name)));
}

/** Functions that change the process, write a file wherever a string says, or do what they are told with any value. */
const LEFT_OUT =
  /\.(write|save|createFileWriter|setBackend|ready|nextFrame|print|enable|disable|deprecat|engine|env|dispose|shareDevice|registerBackend|setPlatform|removeBackend|copyRegistered|registerKernel|unregisterKernel)/;
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
