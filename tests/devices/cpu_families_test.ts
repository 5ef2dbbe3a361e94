/** Kernels that are loaded apart: what runs before they are there, and after. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { kernelTrace } from "../../src/core/device.ts";
import { lookupOp } from "../../src/core/op.ts";
import {
  bringFamilies,
  type Families,
  families,
  loadFamilies,
} from "../../src/devices/cpu/families.ts";

/** Runs `fn` as where no family has been loaded. */
async function withoutFamilies(fn: () => Promise<void>): Promise<void> {
  const all = { ...families } as Families;
  for (const name of ["images", "selections", "windows"] as const) {
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
    assertEquals(await loadFamilies(meanings("MatMul", "AddV2", "Softmax")), false);
    assertEquals(Object.keys(families), []);
    assertEquals(await loadFamilies(meanings("MaxPool", "Conv2D", "AddV2")), true);
    assertEquals(Object.keys(families), ["windows"]);
    assertEquals(await loadFamilies(meanings("DepthwiseConv2dNative")), false);
    assertEquals(await loadFamilies(meanings("ResizeBilinear", "MaxPool")), true);
    assertEquals(Object.keys(families).sort(), ["images", "windows"]);
    assertEquals(await loadFamilies(meanings("ArgMax", "Cumsum", "TopKV2")), true);
    assertEquals(Object.keys(families).sort(), ["images", "selections", "windows"]);
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
