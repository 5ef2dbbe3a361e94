import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { shiftBy } from "../../examples/mnist/augment.ts";
import { parseIdx } from "../../examples/mnist/idx.ts";
import { buildNetwork, type Network } from "../../examples/mnist/network.ts";
import { normals, seeded } from "../../examples/mnist/random.ts";

/** An IDX file with a type byte, dimensions and the bytes of the elements. */
function idx(type: number, shape: number[], bytes: number[]): Uint8Array<ArrayBuffer> {
  const dims = shape.flatMap((n) => [n >>> 24, n >>> 16 & 255, n >>> 8 & 255, n & 255]);
  return Uint8Array.of(0, 0, type, shape.length, ...dims, ...bytes);
}

Deno.test("parseIdx() reads bytes of any shape", () => {
  const a = parseIdx(idx(0x08, [2, 1, 3], [1, 2, 3, 4, 5, 255]));
  assertEquals([a.dtype, a.toArray()], ["uint8", [[[1, 2, 3]], [[4, 5, 255]]]]);
  assertEquals(parseIdx(idx(0x09, [1], [255])).toArray(), [-1]);
  assertEquals(parseIdx(idx(0x08, [300, 0], [])).shape, [300, 0]);
});

Deno.test("parseIdx() reads big-endian elements", () => {
  assertEquals(parseIdx(idx(0x0b, [2], [1, 0, 255, 254])).toArray(), [256, -2]);
  assertEquals(parseIdx(idx(0x0c, [1], [0, 1, 0, 2])).toArray(), [65538]);
  assertEquals(parseIdx(idx(0x0d, [1], [0x3f, 0x80, 0, 0])).toArray(), [1]);
  assertEquals(parseIdx(idx(0x0e, [1], [0xc0, 0, 0, 0, 0, 0, 0, 0])).toArray(), [-2]);
});

Deno.test("parseIdx() reads a part of a larger buffer", () => {
  const file = idx(0x0b, [1], [1, 2]);
  const padded = new Uint8Array(file.length + 3);
  padded.set(file, 3);
  assertEquals(parseIdx(padded.subarray(3)).toArray(), [258]);
});

Deno.test("parseIdx() refuses what is no IDX", () => {
  assertThrows(
    () => parseIdx(new Uint8Array(2)),
    tf.ValueError,
    "2 bytes do not start with its header",
  );
  assertThrows(() => parseIdx(Uint8Array.of(1, 0, 8, 1, 0, 0, 0, 0)), tf.ValueError, "header");
  assertThrows(() => parseIdx(idx(0x07, [1], [1])), tf.ValueError, "no element type 7");
  assertThrows(
    () => parseIdx(idx(0x08, [3], [1, 2])),
    tf.ValueError,
    "received 10 bytes, wanted 11",
  );
});

/** The elements moved by the definition. */
function moved(image: number[][], down: number, right: number): number[][] {
  return image.map((row, y) => row.map((_, x) => image[y - down]?.[x - right] ?? 0));
}

Deno.test("shiftBy() moves each image by what the random numbers say", () => {
  const images = new tf.NdArray(
    "uint8",
    [25, 3, 4],
    Uint8Array.from({ length: 300 }, (_, i) => i % 251 + 1),
  );
  const steps = Array.from({ length: 25 }, (_, i) => [i % 5 - 2, Math.floor(i / 5) - 2]);
  const drawn = steps.flat();
  let next = 0;
  const shifted = shiftBy(2, () => (drawn[next++] + 2.5) / 5)(images);
  const rows = images.toArray() as number[][][];
  assertEquals(shifted.toArray(), rows.map((image, i) => moved(image, steps[i][0], steps[i][1])));
});

Deno.test("shiftBy() keeps channels together and leaves its input alone", () => {
  const images = new tf.NdArray("uint8", [1, 1, 3, 2], Uint8Array.of(1, 2, 3, 4, 5, 6));
  const shifted = shiftBy(1, () => 0)(images);
  assertEquals(shifted.toArray(), [[[[0, 0], [0, 0], [0, 0]]]], "moved up, out of the image");
  const draws = [0.5, 0.99];
  assertEquals(shiftBy(1, () => draws.shift()!)(images).toArray(), [[[[0, 0], [1, 2], [3, 4]]]]);
  assertEquals(Array.from(images.data as Uint8Array), [1, 2, 3, 4, 5, 6]);
});

Deno.test("normals() have the deviation asked for, the same for the same seed", () => {
  const values = normals(seeded(1), 20_000, 2);
  const mean = values.reduce((a, b) => a + b) / values.length;
  const deviation = Math.sqrt(values.reduce((a, b) => a + (b - mean) ** 2) / values.length);
  assert(Math.abs(mean) < 0.06 && Math.abs(deviation - 2) < 0.04, `${mean} ± ${deviation}`);
  assertEquals(normals(seeded(1), 5, 2), values.slice(0, 5));
});

/** Images of three kinds that the network can tell apart at a glance. */
function stripes(count: number): { images: tf.NdArray; labels: tf.NdArray } {
  const data = new Uint8Array(count * 784),
    labels = Uint8Array.from({ length: count }, (_, i) => i % 3);
  for (let i = 0; i < data.length; i++) {
    const [x, y] = [i % 28, Math.floor(i / 28) % 28];
    const kind = labels[Math.floor(i / 784)];
    data[i] = (kind === 0 ? x % 4 < 2 : kind === 1 ? y % 4 < 2 : (x + y) % 8 < 4) ? 255 : 0;
  }
  return {
    images: new tf.NdArray("uint8", [count, 28, 28], data),
    labels: new tf.NdArray("uint8", [count], labels),
  };
}

/** Trains a fresh network for some steps on stripes; returns the losses, and how many of 6 new images it then knows. */
async function learn(steps: number): Promise<{ losses: number[]; hits: number }> {
  const optimizer = tf.train.adam(0.005);
  const network: Network = buildNetwork(optimizer, 3);
  const { images, labels, shifted, loss, hits, step } = network;
  await using session = new tf.Session({ graph: network.graph });
  await session.run(network.initializer);
  const [train, test] = [stripes(6), stripes(6)];
  const losses: number[] = [];
  for (let i = 0; i < steps; i++) {
    const feeds = new Map([[images, train.images], [labels, train.labels]]);
    losses.push((await session.run([loss, step], { feeds }))[0] as number);
  }
  const found = await session.run(hits, {
    feeds: new Map([[shifted, test.images], [labels, test.labels]]),
  });
  optimizer.dispose();
  network.dispose();
  return { losses, hits: Number(found) };
}

testOnDevices("the network learns, and leaves nothing behind", async () => {
  await learn(1);
  const before = tf.memory();
  const { losses, hits } = await learn(12);
  assert(losses.at(-1)! < losses[0] / 3, `losses ${losses}`);
  assertEquals(hits, 6);
  const after = tf.memory();
  assertEquals([after.numTensors, after.numBytes], [before.numTensors, before.numBytes]);
});

testOnDevices("the same seed trains the same network", async () => {
  assertEquals((await learn(3)).losses, (await learn(3)).losses);
});
