/** Kernels that are loaded apart: what runs before they are there, and after. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { kernelTrace } from "../../src/engine/core/device.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import {
  bringFamilies,
  type Families,
  families,
  loadFamilies,
} from "../../src/engine/devices/cpu/families.ts";
import "../../src/engine/devices/cpu/lazy_families.ts";
import { HAS_WEBGPU } from "../devices.ts";

/** Runs `fn` as where no family has been loaded. */
async function withoutFamilies(fn: () => Promise<void>): Promise<void> {
  const all = { ...families } as Families;
  for (const name of ["images", "selections", "vectors", "windows"] as const) {
    delete (families as { -readonly [K in keyof Families]?: Families[K] })[name];
  }
  try {
    await fn();
  } finally {
    bringFamilies(all);
  }
}

/** The kernels that are prepared while `fn` runs. */
function prepared(fn: () => void): string[] {
  const names: string[] = [], before = kernelTrace.print;
  kernelTrace.print = ({ op, name }) => names.push(`${op} ${name}`);
  try {
    fn();
  } finally {
    kernelTrace.print = before;
  }
  return names;
}

Deno.test("loadFamilies() loads the families of meanings, each once", () =>
  withoutFamilies(async () => {
    const meanings = (...ops: string[]) => ops.map((name) => lookupOp(name)!.meaning);
    assertEquals(await loadFamilies(meanings("MatMul", "AddV2", "Softmax")), true);
    assertEquals(Object.keys(families), ["vectors"]);
    assertEquals(await loadFamilies(meanings("AddV2")), false);
    assertEquals(await loadFamilies(meanings("MaxPool", "Conv2D", "AddV2")), true);
    assertEquals(Object.keys(families).sort(), ["vectors", "windows"]);
    assertEquals(await loadFamilies(meanings("DepthwiseConv2dNative")), false);
    assertEquals(await loadFamilies(meanings("ResizeBilinear", "MaxPool")), true);
    assertEquals(Object.keys(families).sort(), ["images", "vectors", "windows"]);
    assertEquals(await loadFamilies(meanings("ArgMax", "Cumsum", "TopKV2")), true);
    assertEquals(Object.keys(families).sort(), ["images", "selections", "vectors", "windows"]);
  }));

Deno.test("an op runs in loops before its family is there, and by its kernel once a device was awaited", () =>
  withoutFamilies(async () => {
    // A shape of its own: nothing is prepared for it yet.
    const compute = () =>
      tf.tidy(() =>
        tf.maxPool(tf.reshape(tf.range(0, 77), [1, 7, 11, 1]), 2, 3, "valid").arraySync()
      );
    let loops: unknown, vectors: unknown;
    assertEquals(prepared(() => loops = compute()).includes("MaxPool loops"), true);
    assertEquals(prepared(() => compute()), []);
    await tf.setBackend("cpu");
    assertEquals(prepared(() => vectors = compute()).includes("MaxPool simd"), true);
    assertEquals(vectors, loops);
  }));

Deno.test("an op that nobody awaited a device for brings the kernels of the CPU", () =>
  withoutFamilies(async () => {
    const compute = (n: number) => prepared(() => tf.tidy(() => void tf.add(tf.range(0, n), 1)));
    assertEquals(compute(83).includes("AddV2 loops"), true);
    while (!families.vectors) await tf.nextFrame();
    assertEquals(compute(83).includes("AddV2 simd"), true);
  }));

Deno.test({
  name: "a GPU that is awaited brings no kernels of the CPU [webgpu]",
  ignore: !HAS_WEBGPU,
  fn: () =>
    withoutFamilies(async () => {
      await tf.setBackend("webgpu");
      try {
        using sum = tf.tidy(() => tf.add(tf.ones([89]), 1));
        assertEquals((await sum.data())[0], 2);
        assertEquals(Object.keys(families), []);
      } finally {
        await tf.setBackend("cpu");
      }
    }),
});
