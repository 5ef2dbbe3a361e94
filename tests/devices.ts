/**
 * Tests that run once on each device: `testOnDevices("tanh() …", async (device) => { … })` registers
 * "tanh() … [cpu]" and "tanh() … [webgpu]".
 */

import { setBackend } from "@weft/weft";
import { isOfTheDay } from "./effort.ts";

/** Name of the file that runs now: of the file of tests, or of the bundle that has it. `url` is its `import.meta.url`. */
export function fileName(url: string): string {
  return new URL(url).pathname.split("/").at(-1)!;
}

/** True where tests are in a bundle with the library: stacks have no name of a source, and the library's frames look like the tests'. */
export function isBundled(url: string): boolean {
  return !fileName(url).endsWith("_test.ts");
}

/** A device that tests run on, as `setBackend` names it. */
export type TestDevice = "cpu" | "webgpu";

/** True where WebGPU tests can run. `deno task test` sets it; under a bare `deno test` they are skipped. */
export const HAS_WEBGPU: boolean = Deno.env.get("WEFT_TEST_WEBGPU") === "1";

/** The devices, for tests that loop themselves. Those on "webgpu" need `ignore: !HAS_WEBGPU`. */
export const DEVICES: readonly TestDevice[] = ["cpu", "webgpu"];

/**
 * Registers a test once for each device, which is the default device while the test runs.
 *
 * @param name Says what holds, without the device.
 * @param fn The test.
 */
export function testOnDevices(name: string, fn: DeviceTest): void {
  for (const device of DEVICES) testOn(device, name, fn);
}

/**
 * {@linkcode testOnDevices} for a row of a table whose rows share their code. On WebGPU half of them run on a day, chosen by their names: a
 * software adapter compiles kernels for each, which takes longer than all else.
 */
export function testRowOnDevices(name: string, fn: DeviceTest): void {
  const place = [...name].reduce((sum, c) => (31 * sum + c.codePointAt(0)!) % 65521, 0);
  testOn("cpu", name, fn);
  if (isOfTheDay(place, 2)) testOn("webgpu", name, fn);
}

/** {@linkcode testOnDevices} for what only a GPU has. */
export function testOnGpu(name: string, fn: () => void | Promise<void>): void {
  testOn("webgpu", name, fn);
}

type DeviceTest = (device: TestDevice, t: Deno.TestContext) => void | Promise<void>;

function testOn(device: TestDevice, name: string, fn: DeviceTest): void {
  Deno.test({
    // tools/test.ts finds the tests that want an adapter by this ending.
    name: `${name} [${device}]`,
    ignore: device === "webgpu" && !HAS_WEBGPU,
    async fn(t) {
      if (!await setBackend(device)) throw new Error(`Cannot use the device "${device}"`);
      await fn(device, t);
    },
  });
}
