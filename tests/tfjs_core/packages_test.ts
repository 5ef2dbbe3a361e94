/** Packages that are built on TensorFlow.js, unmodified over Weft: they tell what they tell over TensorFlow.js. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import { assert } from "@std/assert";
import { stop } from "esbuild";
import { testOnDevices } from "../devices.ts";
import { ofTheDay } from "../effort.ts";
import type { Any } from "../script/helpers.ts";
import { toFileUrl } from "../../tools/paths.ts";
import { bundlePackages, theirCore } from "../../tools/tfjs_packages.ts";
import { ask, importing, PACKAGES } from "./packages.ts";

const home = await Deno.makeTempDir({ prefix: "weft-packages-" });
const bundles = { ours: `${home}/ours.mjs`, theirs: `${home}/theirs.mjs` };
const worker = new Worker(new URL("./packages.ts", import.meta.url), { type: "module" });
let ours: Any;

Deno.test.beforeAll(async () => {
  const contents = await importing();
  await bundlePackages(contents, bundles.ours);
  await bundlePackages(contents, bundles.theirs, { core: await theirCore() });
  ours = await import(toFileUrl(bundles.ours).href);
});

Deno.test.afterAll(async () => {
  worker.terminate();
  await stop();
  await Deno.remove(home, { recursive: true });
});

/** Returns a package's report with TensorFlow.js. */
function askTheirs(name: string): Promise<number[]> {
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) =>
      typeof data === "string" ? reject(new Error(data)) : resolve(data);
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
    worker.postMessage({ bundle: toFileUrl(bundles.theirs).href, name });
  });
}

// TensorFlow.js computes on one thread in plain loops: a third of the packages has its turn on a day.
for (const name of ofTheDay(Object.keys(PACKAGES), 3)) {
  let wanted: Promise<number[]> | undefined;
  testOnDevices(`${name} tells over Weft what it tells over TensorFlow.js`, async () => {
    const expected = await (wanted ??= askTheirs(name)), found = await ask(ours, name);
    assert(expected.length > 0 && expected.every(Number.isFinite), `${expected}`);
    ours.tf.test_util.expectArraysClose(found, expected, 1e-3);
  });
}
