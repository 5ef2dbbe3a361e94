/** Images beside TensorFlow: `make_tensorflow_images.py` writes what it makes of the same ones. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { inSession } from "../in_session.ts";
import TENSORFLOW from "./tensorflow_images.json" with { type: "json" };

const { image } = tf;
const sizeOf = (shape: number[]): number => shape.reduce((a, b) => a * b, 1);
const list = (shape: number[], of: (i: number) => number): number[] =>
  Array.from({ length: sizeOf(shape) }, (_, i) => of(i));
const floats = (...shape: number[]): tf.Tensor =>
  tf.tensor(list(shape, (i) => i * 37 % 101 / 101), shape, "float32");
const bytes = (...shape: number[]): tf.Tensor =>
  tf.tensor(list(shape, (i) => i * 97 % 256), shape, "uint8");
const turned = (x: tf.Tensor): tf.Tensor => tf.reverse(x, 0);

type Make = (x: tf.Tensor) => tf.Tensor;
const x = (): tf.Tensor => floats(2, 6, 5, 3), u = (): tf.Tensor => bytes(4, 5, 3);
const big = (): tf.Tensor => floats(2, 24, 23, 2);
const BOXES = [[[0.1, 0.2, 0.8, 0.9], [0, 0, 0.5, 0.5]], [[0.3, 0.3, 1, 1], [-1, -1, 2, 2]]];
const scores = (): tf.Tensor => tf.tensor([[[0.9, 0.2], [0.8, 0.7], [0.4, 0.6]]]);
const combined = (s: tf.Tensor) =>
  image.combinedNonMaxSuppression(
    [[[[0, 0, 1, 1]], [[0, 0, 1, 0.9]], [[0.5, 0.5, 1, 1]]]],
    s,
    2,
    3,
    { iouThreshold: 0.5, scoreThreshold: 0.3 },
  );

/** Changes of one seed. */
const stateless = (a: number, b: number) => {
  const seed = [a, b], name = `seed (${a}, ${b})` as const;
  return {
    [`statelessRandomFlipLeftRight, ${name}`]: [
      x,
      (x: tf.Tensor) => image.statelessRandomFlipLeftRight(x, seed),
      true,
    ],
    [`statelessRandomFlipLeftRight of one, ${name}`]: [
      u,
      (x: tf.Tensor) => image.statelessRandomFlipLeftRight(x, tf.tensor(seed, [2], "int64")),
    ],
    [`statelessRandomFlipUpDown, ${name}`]: [
      x,
      (x: tf.Tensor) => image.statelessRandomFlipUpDown(x, tf.tensor(seed, [2], "int64")),
      true,
    ],
    [`statelessRandomFlipUpDown of one, ${name}`]: [
      u,
      (x: tf.Tensor) => image.statelessRandomFlipUpDown(x, seed),
    ],
    [`statelessRandomCrop, ${name}`]: [
      x,
      (x: tf.Tensor) => image.statelessRandomCrop(x, [1, 3, 2, 3], seed),
      true,
    ],
    [`statelessRandomBrightness, ${name}`]: [
      x,
      (x: tf.Tensor) => image.statelessRandomBrightness(x, 0.3, seed),
      true,
    ],
    [`statelessRandomContrast, ${name}`]: [
      x,
      (x: tf.Tensor) => image.statelessRandomContrast(x, 0.5, 1.7, seed),
      true,
    ],
    [`statelessRandomHue, ${name}`]: [
      x,
      (x: tf.Tensor) => image.statelessRandomHue(x, 0.4, seed),
    ],
    [`statelessRandomSaturation, ${name}`]: [
      x,
      (x: tf.Tensor) => image.statelessRandomSaturation(x, 0.5, 1.7, seed),
    ],
  } as Record<string, readonly [() => tf.Tensor, Make, boolean?]>;
};

/** The image, the function, and true where its gradient is compared with finite differences, as no pixel is at a corner. */
const CASES: Record<string, readonly [() => tf.Tensor, Make, boolean?]> = {
  "adjustBrightness": [x, (x) => image.adjustBrightness(x, 0.25), true],
  "adjustBrightness, uint8": [u, (x) => image.adjustBrightness(x, 0.25)],
  "adjustContrast": [x, (x) => image.adjustContrast(x, 1.5), true],
  "adjustContrast, uint8": [u, (x) => image.adjustContrast(x, 0.5)],
  "adjustHue": [x, (x) => image.adjustHue(x, 0.3), true],
  "adjustHue, uint8": [u, (x) => image.adjustHue(x, -0.2)],
  "adjustSaturation": [x, (x) => image.adjustSaturation(x, 1.75), true],
  "adjustSaturation, uint8": [u, (x) => image.adjustSaturation(x, 0.5)],
  "adjustGamma": [x, (x) => image.adjustGamma(x, 2.2, 0.75)],
  "adjustGamma, uint8": [u, (x) => image.adjustGamma(x, 0.5)],
  "rgbToHsv": [x, image.rgbToHsv, true],
  "hsvToRgb": [x, image.hsvToRgb],
  "rgbToYiq": [x, image.rgbToYiq, true],
  "yiqToRgb": [x, image.yiqToRgb, true],
  "rgbToYuv": [x, image.rgbToYuv, true],
  "yuvToRgb": [x, image.yuvToRgb, true],
  "convertImageDtype, to uint8": [x, (x) => image.convertImageDtype(x, "uint8")],
  "convertImageDtype, to float32": [u, (x) => image.convertImageDtype(x, "float32")],
  "convertImageDtype, to uint16": [u, (x) => image.convertImageDtype(x, "uint16")],
  "perImageStandardization": [x, image.perImageStandardization],
  "perImageStandardization, uint8": [u, image.perImageStandardization],
  "rot90": [x, image.rot90, true],
  "rot90, 2": [x, (x) => image.rot90(x, 2), true],
  "rot90, 3": [u, (x) => image.rot90(x, 3)],
  "transpose": [u, image.transpose],
  "centralCrop": [x, (x) => image.centralCrop(x, 0.6), true],
  "cropToBoundingBox": [x, (x) => image.cropToBoundingBox(x, 1, 2, 3, 2), true],
  "padToBoundingBox": [u, (x) => image.padToBoundingBox(x, 1, 2, 7, 9)],
  "resizeWithCropOrPad": [x, (x) => image.resizeWithCropOrPad(x, 3, 8), true],
  "resizeWithCropOrPad, odd": [u, (x) => image.resizeWithCropOrPad(x, 7, 2)],
  "resizeWithPad": [x, (x) => image.resizeWithPad(x, 9, 12)],
  "resizeWithPad, smaller": [x, (x) => image.resizeWithPad(x, 4, 3)],
  "totalVariation": [x, image.totalVariation, true],
  "imageGradients": [x, (x) => {
    const { dy, dx } = image.imageGradients(x);
    return tf.stack([dy, dx]);
  }, true],
  "sobelEdges": [x, image.sobelEdges, true],
  "psnr": [x, (x) => image.psnr(x, turned(x), 1), true],
  "psnr, uint8": [u, (x) => image.psnr(x, turned(x), 255)],
  "ssim": [big, (x) => image.ssim(x, turned(x), 1), true],
  "ssim, small window": [
    x,
    (x) => image.ssim(x, turned(x), 1, { filterSize: 3, filterSigma: 0.75, k1: 0.02, k2: 0.05 }),
    true,
  ],
  "ssimMultiscale": [
    big,
    (x) => image.ssimMultiscale(x, turned(x), 1, { powerFactors: [0.3, 0.3, 0.4], filterSize: 5 }),
  ],
  "drawBoundingBoxes": [
    x,
    (x) => image.drawBoundingBoxes(x, BOXES, [[1, 0, 0.5], [0.25, 1, 0]]),
  ],
  "nonMaxSuppressionOverlaps": [
    () => tf.tensor([[1, 0.6, 0.2], [0.6, 1, 0.1], [0.2, 0.1, 1]]),
    (x) => image.nonMaxSuppressionOverlaps(x, [0.5, 0.7, 0.6], 3, 0.5),
  ],
  ...stateless(1, 2),
  ...stateless(-7, 1700000000000),
  "combinedNonMaxSuppression": [scores, (s) => combined(s).scores],
  "combinedNonMaxSuppression, boxes": [scores, (s) => combined(s).boxes],
};

function near(found: tf.Tensor, name: string, way: string): void {
  const { shape, dtype, data } = TENSORFLOW[name as keyof typeof TENSORFLOW];
  assertEquals([found.shape, found.dtype], [shape, dtype] as unknown, `${name}, ${way}`);
  // Whole numbers are cut off, where float32 may fall on either side.
  const limit = dtype.startsWith("uint") ? 1 : 2e-4;
  [...found.dataSync() as Float32Array].forEach((v, i) =>
    assertAlmostEquals(
      v,
      data[i],
      limit * Math.max(1, dtype === "float32" ? Math.abs(data[i]) : 1),
      `${name}, ${way}, at ${i}`,
    )
  );
}

Deno.test("every image of TensorFlow's has its case", () => {
  assertEquals(Object.keys(CASES).sort(), Object.keys(TENSORFLOW).sort());
});

for (const [name, [make, f, moves]] of Object.entries(CASES)) {
  testOnDevices(`${name} of images is TensorFlow's`, async () => {
    const given = make();
    near(f(given), name, "eager");
    near(tf.function(f)(given), name, "compiled");
    near(await inSession(() => f(make())), name, "session");
    if (!moves) return;
    // The slope along a direction is that of the numbers.
    const along = tf.randomNormal(given.shape, 0, 1, "float64", 5);
    const wide = tf.cast(given, "float64");
    const loss = (t: tf.Tensor): tf.Tensor => tf.sum(tf.square(f(t)));
    const slope = tf.sum(tf.mul(tf.grad(loss)(wide), along)).item();
    const moved = (e: number): number => loss(tf.add(wide, tf.mul(along, e))).item();
    const wanted = (moved(1e-6) - moved(-1e-6)) / 2e-6;
    assert(
      Math.abs(slope - wanted) < 1e-3 * Math.max(1, Math.abs(wanted)),
      `gradient of ${name}: ${slope}, wanted ${wanted}`,
    );
  });
}

testOnDevices("random changes of images stay in their range and repeat by their seed", () => {
  const x = floats(3, 4, 4, 3);
  const changes: Record<string, (seed: number) => tf.Tensor> = {
    brightness: (seed) => image.randomBrightness(x, 0.25, seed),
    contrast: (seed) => image.randomContrast(x, 0.5, 1.5, seed),
    hue: (seed) => image.randomHue(x, 0.25, seed),
    saturation: (seed) => image.randomSaturation(x, 0.5, 1.5, seed),
    flips: (seed) => image.randomFlipLeftRight(x, seed),
    "flips upside down": (seed) => image.randomFlipUpDown(x, seed),
    crop: (seed) => image.randomCrop(x, [3, 2, 3, 3], seed),
  };
  for (const [name, change] of Object.entries(changes)) {
    const all = Array.from({ length: 8 }, (_, seed) => change(seed).arraySync());
    assertEquals(change(0).arraySync(), all[0], name);
    assert(all.some((y) => JSON.stringify(y) !== JSON.stringify(all[0])), name);
  }
  const [first] = tf.split(x, 3), flips = new Set<string>();
  for (let seed = 0; seed < 6; seed++) {
    const y = image.randomFlipLeftRight(x, seed);
    flips.add(
      tf.split(y, 3).map((part, k) =>
        String(tf.max(tf.abs(tf.sub(part, tf.split(x, 3)[k]))).item() === 0)
      ).join(),
    );
    const alone = image.randomFlipLeftRight(tf.squeeze(first, [0]), seed);
    assertEquals(alone.shape, [4, 4, 3]);
  }
  assert(flips.size > 1);
  const moved = tf.sub(image.randomBrightness(x, 0.25, 3), x);
  assert(
    tf.sub(tf.max(moved), tf.min(moved)).item() < 1e-6 && Math.abs(tf.max(moved).item()) <= 0.25,
  );
});

Deno.test("ops of images refuse what they cannot use", () => {
  const grey = tf.zeros([4, 4, 1]);
  const cases: [() => unknown, string][] = [
    [() => image.rgbToHsv(grey), "3 channels"],
    [() => image.adjustGamma(grey, -1), "gamma must be 0 or more"],
    [() => image.centralCrop(grey, 0), "fraction must be in (0, 1]"],
    [() => image.cropToBoundingBox(grey, 2, 2, 3, 3), "images are 4 by 4"],
    [() => image.padToBoundingBox(grey, 0, 0, 3, 8), "images are 4 by 4"],
    [() => image.ssim(grey, grey, 1), "smaller than the window of 11"],
    [() => image.ssim(grey, grey, 1, { size: 3 } as never), "size"],
    [() => image.randomCrop(grey, [5, 4, 1]), "within shape"],
    [() => image.randomContrast(grey, 2, 1), "out of order|wanted an upper end"],
    [() => image.statelessRandomFlipLeftRight(tf.zeros([1, 1, 2, 2, 1]), [1, 2]), "rank 3 or 4"],
    [() => image.statelessRandomFlipUpDown(grey, [1, 2, 3]), "seed must have shape [2]"],
    [() => image.statelessRandomCrop(grey, [5, 4, 1], [1, 2]), "and size [5,4,1]"],
    [() => image.statelessRandomCrop(grey, [4, 1], [1, 2]), "and size [4,1]"],
    [() => image.statelessRandomCrop(grey, 4 as never, [1, 2]), "must be a list"],
    [() => image.statelessRandomBrightness(grey, -1, [1, 2]), "maxDelta must be from 0"],
    [() => image.statelessRandomHue(grey, 0.6, [1, 2]), "maxDelta must be from 0 to 0.5"],
    [() => image.statelessRandomContrast(grey, 1, 1, [1, 2]), "wanted lower of 0 or more"],
    [() => image.statelessRandomSaturation(grey, -1, 1, [1, 2]), "wanted lower of 0 or more"],
    [() => image.statelessRandomSaturation(grey, 0, 1, [1, 2]), "3 channels"],
    [() => image.rot90(tf.zeros([3])), "rank 3 or more"],
  ];
  for (const [call, text] of cases) {
    assertThrows(call, Error, text.includes("|") ? text.split("|")[1] : text);
  }
});

testOnDevices(
  "rgbToGrayscale() rounds the colors of uint8 and uint16 as TensorFlow does",
  async () => {
    const colors = [[255, 255, 255], [0, 162, 69], [231, 139, 46], [115, 23, 185], [0, 0, 0]];
    const wide = [[65535, 65535, 65535], [0, 30000, 69], [1, 1, 1]];
    const gray = async (image: number[][], dtype: tf.DType): Promise<number[]> => [
      ...await tf.image.rgbToGrayscale(tf.tensor(image, undefined, dtype)).data() as Uint8Array,
    ];
    assertEquals(await gray(colors, "uint8"), [255, 103, 156, 69, 0]);
    assertEquals(await gray(wide, "uint16"), [65528, 17618, 0]);
  },
);
