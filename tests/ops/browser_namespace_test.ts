/** tf.browser: images as tensors, and back. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const pixels = { width: 2, height: 1, data: new Uint8ClampedArray([1, 2, 3, 4, 5, 6, 7, 8]) };

Deno.test("fromPixels() takes channels of pixels and of canvases", () => {
  const canvas = { width: 2, height: 1, getContext: () => ({ getImageData: () => pixels }) };
  for (const source of [pixels, canvas]) {
    assertEquals(tf.browser.fromPixels(source).arraySync(), [[[1, 2, 3], [5, 6, 7]]]);
    assertEquals(tf.browser.fromPixels(source, 1).arraySync(), [[[1], [5]]]);
    assertEquals(tf.browser.fromPixels(source, 4).dtype, "int32");
  }
});

/** Runs `fn` where canvases keep what is drawn on them, or where there are none. */
async function onPage(fn: (drawn: unknown[]) => unknown, isBare = false): Promise<void> {
  const drawn: unknown[] = [];
  const page = globalThis as unknown as Record<string, unknown>;
  const before = [page.OffscreenCanvas, page.ImageData];
  page.OffscreenCanvas = class {
    constructor(readonly width: number, readonly height: number) {}
    getContext = (kind: string) => ({
      drawImage: (...args: unknown[]) => void drawn.push([kind, this.width, this.height, ...args]),
      getImageData: (...args: number[]) => (drawn.push(args), pixels),
    });
  };
  page.ImageData = class {
    constructor(
      readonly data: Uint8ClampedArray,
      readonly width: number,
      readonly height: number,
    ) {}
  };
  if (isBare) page.OffscreenCanvas = page.ImageData = undefined;
  try {
    await fn(drawn);
  } finally {
    [page.OffscreenCanvas, page.ImageData] = before;
  }
}

Deno.test("images and videos are drawn on a canvas of the size that they hold, to read their pixels", async () => {
  const shown = { width: 20, height: 10 };
  for (
    const [source, size] of [
      [{ ...shown, naturalWidth: 2, naturalHeight: 1 }, [2, 1]],
      [{ ...shown, videoWidth: 4, videoHeight: 3 }, [4, 3]],
      [shown, [20, 10]],
    ] as const
  ) {
    await onPage((drawn) => {
      assertEquals(tf.browser.fromPixels(source as never).arraySync(), [[[1, 2, 3], [5, 6, 7]]]);
      assertEquals(drawn, [["2d", ...size, source, 0, 0, ...size], [0, 0, ...size]]);
    });
    await onPage(() => {
      const read = () => tf.browser.fromPixels(source as never);
      assertThrows(read, TypeError, "no OffscreenCanvas here");
    }, true);
  }
  const error = "Cannot read pixels of an image: its size is undefined by 3";
  assertThrows(() => tf.browser.fromPixels({ height: 3 } as never), TypeError, error);
  for (
    const empty of [{ naturalWidth: 0, naturalHeight: 0, width: 3, height: 3 }, {
      width: 0,
      height: 2,
    }]
  ) {
    assertThrows(
      () => tf.browser.fromPixels(empty as never),
      tf.ValueError,
      `the source is 0 by ${empty.naturalHeight ?? 2}, await its load`,
    );
  }
  for (const wrong of [{}, [], 3, null]) {
    assertThrows(
      () => tf.browser.fromPixels(wrong as never),
      TypeError,
      "must be pixel data, a canvas",
    );
  }
});

Deno.test("toPixels() draws on a canvas, which takes the image's size", async () => {
  const put: unknown[] = [];
  const canvas = {
    ...{ width: 0, height: 0 },
    getContext: () => ({ putImageData: (...args: unknown[]) => put.push(args) }),
  };
  const image = [[[1, 2, 3], [4, 5, 6]]];
  const error = "there is no ImageData here";
  const draw = () => tf.browser.toPixels(image, canvas as never);
  await onPage(() => assertRejects(draw, TypeError, error), true);
  await onPage(async () => {
    const bytes = await draw();
    assertEquals([canvas.width, canvas.height], [2, 1]);
    const [[{ data, width, height }, x, y]] = put as [[ImageData, number, number]];
    assertEquals([[...data], width, height, x, y], [[...bytes], 2, 1, 0, 0]);
    assertEquals([...bytes], [1, 2, 3, 255, 4, 5, 6, 255]);
  });
});

Deno.test("fromPixelsAsync() waits until an image is decoded", async () => {
  let decoded = false;
  const context = { getImageData: () => (assert(decoded), pixels) };
  const image = {
    width: 2,
    height: 1,
    getContext: () => context,
    decode: async () => void await Promise.resolve().then(() => decoded = true),
  };
  using x = await tf.browser.fromPixelsAsync(image);
  assertEquals(x.arraySync(), [[[1, 2, 3], [5, 6, 7]]]);
  const broken = { ...image, decode: () => Promise.reject(new Error("no image")) };
  await assertRejects(() => tf.browser.fromPixelsAsync(broken), Error, "no image");
  await assertRejects(() => tf.browser.fromPixelsAsync(pixels, 5), tf.ValueError, "1 to 4");
  await assertRejects(() => tf.browser.fromPixelsAsync(null as never), TypeError, "but was null");
});

testOnDevices("toPixels() makes bytes of grey and coloured images", async () => {
  const cases: [tf.TensorLike, number[]][] = [
    [tf.tensor([[0, 1]]), [0, 0, 0, 255, 255, 255, 255, 255]],
    [tf.tensor([[[0.5], [1]]]), [128, 128, 128, 255, 255, 255, 255, 255]],
    [tf.tensor([[[1, 2, 3]]], undefined, "int32"), [1, 2, 3, 255]],
    [[[[1, 2, 3, 4]]], [1, 2, 3, 4]],
    [tf.zeros([0, 3]), []],
  ];
  for (const [image, bytes] of cases) assertEquals([...await tf.browser.toPixels(image)], bytes);
});

Deno.test("fromPixels() and toPixels() refuse what is no image, and leave nothing", async () => {
  const before = tf.memory().numTensors;
  assertThrows(() => tf.browser.fromPixels(pixels, 5), tf.ValueError, "1 to 4");
  assertThrows(() => tf.browser.fromPixels(5 as never), TypeError, "but was 5");
  const blind = { width: 1, height: 1, getContext: () => null };
  assertThrows(() => tf.browser.fromPixels(blind), tf.ValueError, "no 2d context");
  const refused: [tf.TensorLike, string][] = [
    [[[300]], "in the range [0 - 255] but encountered 300"],
    [[[-1]], "encountered -1"],
    [[1, 2], "rank 2 or 3"],
    [[[[1, 2]]], "1, 3 or 4 channels"],
  ];
  for (const [image, message] of refused) {
    await assertRejects(() => tf.browser.toPixels(image), tf.ValueError, message);
  }
  using bools = tf.tensor([[true]]);
  await assertRejects(() => tf.browser.toPixels(bools), tf.ValueError, "bool");
  bools.dispose();
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("nextFrame() lets tasks that wait run first, and waits for a page where there is one", async () => {
  const order: string[] = [];
  const page = globalThis as { requestAnimationFrame?: (draw: () => void) => unknown };
  if (page.requestAnimationFrame) {
    page.requestAnimationFrame(() => order.push("frame"));
    await tf.nextFrame();
    return assertEquals(order, ["frame"]);
  }
  setTimeout(() => order.push("task"), 0);
  await tf.nextFrame();
  assertEquals(order, ["task"]);
  page.requestAnimationFrame = (draw) => queueMicrotask(() => (order.push("frame"), draw()));
  try {
    await tf.nextFrame();
  } finally {
    delete page.requestAnimationFrame;
  }
  assertEquals(order, ["task", "frame"]);
});
