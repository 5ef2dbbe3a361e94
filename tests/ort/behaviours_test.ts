/** Weft's onnxruntime beside onnxruntime-web: both tell the same in each case. */
import { assertEquals } from "@std/assert";
import * as ours from "@weft/weft/ort";
import { testOnDevices } from "../devices.ts";
import { CASES, type Ort } from "./behaviours.ts";

/** Computed, so that type-checking does not fetch it. */
const PACKAGE = "npm:onnxruntime-web@1.30.0";

let theirs: Ort;

Deno.test.beforeAll(async () => {
  // Its loader leaves Node's workers in the global place of the web's.
  const { Worker } = globalThis;
  theirs = await import(PACKAGE);
  theirs.env.wasm.numThreads = 1;
  globalThis.Worker = Worker;
});

for (const [name, tell] of Object.entries(CASES)) {
  testOnDevices(`onnxruntime's behaviour: ${name}`, async (device) => {
    const provider = { cpu: "wasm", webgpu: "webgpu" }[device];
    const got = await tell(ours, { executionProviders: [provider] });
    assertEquals(got, await tell(theirs, { executionProviders: ["wasm"] }));
  });
}
