/** Windows and boxes of images beside TensorFlow 2.21. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";
import { type GoldenCase, runCases } from "./golden_cases.ts";
import IMAGES from "./images.json" with { type: "json" };

// deno-lint-ignore no-explicit-any
type Any = any;

const CASES = IMAGES as unknown as readonly GoldenCase[];

for (const name of [...new Set(CASES.map(({ fn }) => fn))]) {
  testOnDevices(
    `${name}() is TensorFlow's`,
    () => runCases(CASES.filter(({ fn }) => fn === name), { ulps: 16 }),
  );
}

testOnDevices("glimpses have noise of their image's range where they reach beyond", async () => {
  using _s = tf.scope();
  const x = tf.add(tf.mul(tf.reshape(tf.range(0, 9), [1, 3, 3, 1]), 0.5), 10);
  for (const noise of ["uniform", "gaussian"] as const) {
    const y = tf.image.extractGlimpse(x, [40, 40], [[0, 0]], { noise });
    const [low, high] = [await tf.min(y).array(), await tf.max(y).array()] as Any;
    assert(low >= 10 && high <= 14, `${low} ${high}`);
    assert(Math.abs(await tf.mean(y).array() as Any - 12) < 0.2, noise);
    const inside = tf.image.extractGlimpse(x, [1, 1], [[0, 0]], { noise });
    assertEquals(await inside.array(), [[[[12]]]] as Any);
  }
  tf.setRandomSeed(4);
  const draw = () => tf.image.extractGlimpse(x, [5, 5], [[1, 1]]).array();
  const first = await draw();
  tf.setRandomSeed(4);
  assertEquals(await draw(), first);
  tf.setRandomSeed(null);
});

testOnDevices(
  "parts of images repeat with their seed, go on in functions, and are slices",
  async () => {
    using _s = tf.scope();
    const boxes = [[[0.25, 0.25, 0.75, 0.75]]], image = tf.ones([50, 40, 3]);
    const draw = (seed?: number) =>
      tf.image.sampleDistortedBoundingBox([50, 40, 3], boxes, {
        ...{ seed: seed ?? null, minObjectCovered: 0.5 },
      });
    assertEquals(await draw(3).begin.array(), await draw(3).begin.array());
    const crop = tf.function(() => {
      const { begin, size, bboxes } = draw(3);
      const part = tf.slice(image, begin, size);
      return [tf.shape(part), size, bboxes];
    });
    const seen = new Set<string>();
    for (let i = 0; i < 6; i++) {
      const [shape, size, edges] = await crop.async() as tf.Tensor[];
      const [h, w] = await size.array() as number[];
      assertEquals(await shape.array(), [h, w, 3]);
      const [top, left, bottom, right] = await edges.data() as Float32Array;
      assert(top >= 0 && left >= 0 && bottom <= 1 && right <= 1 && bottom > top && right > left);
      seen.add(String(await edges.data()));
    }
    assert(seen.size > 1);
    const rows = tf.vectorizedMap(
      (seed: tf.Tensor) =>
        tf.image.statelessSampleDistortedBoundingBox([50, 40, 3], boxes, seed).size,
      tf.tensor([[1, 2], [3, 4]], [2, 2], "int32"),
    ) as tf.Tensor;
    const one = tf.image.statelessSampleDistortedBoundingBox([50, 40, 3], boxes, [3, 4]).size;
    assertEquals((await rows.array() as number[][])[1], await one.array());
  },
);

testOnDevices("glimpses of rows are those of each, in a loop with a script too", async () => {
  using _s = tf.scope();
  const x = tf.reshape(tf.range(0, 36), [2, 2, 3, 3, 1]), options = { noise: "zero" } as const;
  const at = tf.tensor([[[0, 0], [1, 1]], [[-1, 0], [0.5, 0.5]]]);
  const each = (x: tf.Tensor, at: tf.Tensor) => tf.image.extractGlimpse(x, [2, 2], at, options);
  const rows = tf.vmap(each)(x, at) as tf.Tensor;
  const want = tf.stack([0, 1].map((i) => each(tf.gather(x, i), tf.gather(at, i))));
  assertEquals(await rows.array(), await want.array());
  const moved = tf.function((x: tf.Tensor) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, y: tf.Tensor) => {
        const offsets = tf.numpyFunction(
          (n: tf.NdArray) => [[Number(n.item()) * 0, 1]],
          [i],
          "float32",
          {
            shapeFn: () => tf.TensorSpec([1, 2], "float32"),
          },
        );
        return [
          tf.add(i, 1),
          tf.ensureShape(
            tf.image.extractGlimpse(y, [3, 3], offsets, {
              ...options,
              centered: false,
              normalized: false,
            }),
            [1, 3, 3, 1],
          ),
        ];
      },
      [tf.scalar(0, "int32"), x],
    )
  );
  const [, y] = await moved.async(tf.reshape(tf.range(0, 9), [1, 3, 3, 1])) as tf.Tensor[];
  assertEquals(Array.from(await y.data()), new Array(9).fill(0));
});

testOnDevices("windows and boxes that cannot be are refused", async () => {
  using _s = tf.scope();
  const { image, ValueError } = tf, n = image as Any, { InvalidArgumentError } = tf.errors;
  const x = tf.ones([1, 3, 3, 1]), box = [[[0, 0, 1, 1]]];
  const refusals: [() => unknown, Any, string][] = [
    [() => image.extractGlimpse(tf.ones([3, 3, 1]), [2, 2], [[0, 0]]), ValueError, "hape"],
    [() => image.extractGlimpse(x, [2], [[0, 0]]), ValueError, "[height, width]"],
    [() => image.extractGlimpse(x, [2, 2], [[0, 0], [1, 1]]), ValueError, "hape"],
    [() => n.extractGlimpse(x, [2, 2], [[0, 0]], { noise: "loud" }), ValueError, "loud"],
    [() => n.extractGlimpse(x, [2, 2], [[0, 0]], { centred: true }), TypeError, "centered"],
    [() => n.extractGlimpse(x, [2, 2], [[0, 0]], { centered: 1 }), TypeError, "'centered'"],
    [() => n.extractGlimpse("a", [2, 2], [[0, 0]]), TypeError, "string"],
    [() => image.statelessSampleDistortedBoundingBox([3, 3], box, [1, 2]), ValueError, "hape"],
    [
      () => image.statelessSampleDistortedBoundingBox([3, 3, 3], [[[0, 1]]], [1, 2]),
      ValueError,
      "shape",
    ],
    [
      () => image.statelessSampleDistortedBoundingBox([3, 3, 3], [[[0, 0, 2, 1]]], [1, 2]),
      InvalidArgumentError,
      "[0, 1]",
    ],
    [
      () => image.statelessSampleDistortedBoundingBox([3, 3, 3], tf.zeros([1, 0, 4]), [1, 2]),
      InvalidArgumentError,
      "no boxes",
    ],
    [
      () => image.statelessSampleDistortedBoundingBox([3, 3, 3], box, [1]),
      ValueError,
      "wanted [2]",
    ],
    [
      () => image.sampleDistortedBoundingBox([3, 3, 3], box, { areaRange: [0.5, 2] }),
      ValueError,
      "up to 1",
    ],
    [
      () => n.sampleDistortedBoundingBox([3, 3, 3], box, { areaRange: 1 }),
      TypeError,
      "'areaRange'",
    ],
    [() => image.sampleDistortedBoundingBox([3, 3, 3.5], box), TypeError, "3.5"],
    [() => n.sampleDistortedBoundingBox([3, 3, 3], box, { area: 1 }), TypeError, "areaRange"],
    [
      () =>
        image.generateBoundingBoxProposals(tf.ones([1, 1, 1, 2]), tf.ones([1, 1, 1, 4]), [[
          1,
          1,
          1,
          1,
          1,
        ]], tf.ones([1, 1, 8])),
      ValueError,
      "hape",
    ],
    [
      () => n.generateBoundingBoxProposals(x, x, x, x, { postNmsTopn: 0 }),
      ValueError,
      "from 1 on",
    ],
    [() => n.generateBoundingBoxProposals(x, x, x, x, { nmsThreshold: "a" }), TypeError, "number"],
  ];
  for (const [run, error, text] of refusals) {
    await assertRejects(
      async () => {
        const out = await run();
        const all = out instanceof tf.Tensor ? [out] : Object.values(out as Any);
        for (const x of all) if (x instanceof tf.Tensor) await x.data();
      },
      error,
      text,
      String(run),
    );
  }
});
