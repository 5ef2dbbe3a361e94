/** Images of each dtype beside TensorFlow: `make_image_dtypes.py` writes what it makes of them, or that it refuses them. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices, testRowOnDevices } from "../devices.ts";
import TENSORFLOW from "./image_dtypes.json" with { type: "json" };

const { image } = tf;
type Images = (x: tf.Tensor) => tf.Tensor;
type Row = [name: string, from: tf.DType, to: tf.DType | null, data: number[] | null];

const FUNCTIONS: Record<string, Images> = {
  "totalVariation": image.totalVariation,
  "rgbToHsv": image.rgbToHsv,
  "hsvToRgb": image.hsvToRgb,
  "perImageStandardization": image.perImageStandardization,
  "rgbToGrayscale": image.rgbToGrayscale,
  "rgbToYiq": image.rgbToYiq,
  "yiqToRgb": image.yiqToRgb,
  "rgbToYuv": image.rgbToYuv,
  "yuvToRgb": image.yuvToRgb,
  "adjustHue": (x) => image.adjustHue(x, 0.2),
  "adjustSaturation": (x) => image.adjustSaturation(x, 0.5),
  "adjustContrast": (x) => image.adjustContrast(x, 0.5),
  "adjustBrightness": (x) => image.adjustBrightness(x, -0.25),
  "adjustBrightness, much": (x) => image.adjustBrightness(x, 0.5),
  ...Object.fromEntries(
    (["uint8", "int8", "uint16", "int16", "int32", "float32"] as const).flatMap((to) =>
      [false, true].map((saturate): [string, Images] => [
        `convertImageDtype, ${to}${saturate ? ", saturated" : ""}`,
        (x) => image.convertImageDtype(x, to, saturate),
      ])
    ),
  ),
};

const SCALES: Partial<Record<tf.DType, [scale: number, less: number]>> = {
  bool: [1, 0],
  uint8: [1, 0],
  int8: [1, 128],
  uint16: [250, 0],
  int16: [250, 128],
  int32: [2 ** 23, 128],
  uint32: [2 ** 23, 0],
  int64: [2 ** 54, 128],
  complex64: [0.004, 0],
};

/** The images of `make_image_dtypes.py`. */
function images(dtype: tf.DType): tf.Tensor {
  const [scale, less] = SCALES[dtype] ?? [1 / 256, 0];
  const numbers = Array.from({ length: 12 }, (_, i) => (i * 97 % 256 - less) * scale);
  const given = dtype === "bool" ? numbers.map((n) => n % 2) : numbers;
  return tf.cast(tf.tensor(given, [2, 2, 3], "float64"), dtype);
}

/** Greatest distance, by parts of the greatest number. */
const FAR: Partial<Record<tf.DType, number>> = { bfloat16: 0.02, float16: 4e-3 };

for (const [name, f] of Object.entries(FUNCTIONS)) {
  const rows = (TENSORFLOW as Row[]).filter((row) => row[0] === name);
  testRowOnDevices(
    `${name} takes images of the dtypes that TensorFlow takes, and gives its numbers`,
    async () => {
      assert(rows.length > 3, name);
      for (const [, from, to, wanted] of rows) {
        for (const compiled of [false, true]) {
          const way = `${name} of ${from}, compiled ${compiled}`;
          const run = (): tf.Tensor => (compiled ? tf.function(f) : f)(images(from));
          if (wanted === null) {
            assertThrows(run, TypeError, from, way);
            continue;
          }
          const y = run();
          assertEquals(y.dtype, to, way);
          const found = await tf.cast(y, "float64").data<"float64">();
          const most = Math.max(1, ...wanted.map(Math.abs));
          // Whole numbers are cut off, where float32 may fall on either side.
          const far = Math.max(y.dtype.includes("int") ? 1 : 0, most * (FAR[from] ?? 2e-6));
          wanted.forEach((w, i) =>
            assert(
              Math.abs(found[i] - w) <= far,
              `${way}, at ${i}: ${[...found]}, wanted ${wanted}`,
            )
          );
        }
      }
    },
  );
}

/** Functions of colours whose first and second derivatives exist where no two channels are equal. */
const SMOOTH: Record<string, Images> = {
  ...Object.fromEntries(
    Object.entries(FUNCTIONS).filter(([name]) =>
      /^(adjust|hsv|rgbToHsv|rgbToY|y|total)/.test(name)
    ),
  ),
  "adjustGamma": (x) => image.adjustGamma(x, 2.2),
  "adjustHue, of an unknown shape": (x) => unknown((x) => image.adjustHue(x, -0.3), x),
  "rgbToHsv, of an unknown shape": (x) => unknown(image.rgbToHsv, x),
};

function unknown(f: Images, x: tf.Tensor): tf.Tensor {
  return tf.function(f, { inputSignature: [new tf.TensorSpec(null, x.dtype)] })(x);
}

for (const [name, f] of Object.entries(SMOOTH)) {
  testOnDevices(`${name} has the second derivatives and tangents of its numbers`, async () => {
    const given = Array.from({ length: 24 }, (_, i) => 0.05 + (i * 37 + 5) % 50 / 60 + i * 1e-3);
    const x = tf.tensor(given, [2, 2, 2, 3], "float64");
    const v = tf.tensor(given.map((_, i) => Math.sin(3 * i)), x.shape, "float64");
    const count = f(x).size;
    const loss = (t: tf.Tensor): tf.Tensor => {
      const y = tf.reshape(f(t), [count]);
      return tf.sum(
        tf.mul(tf.cast(tf.add(tf.sin(tf.range(0, count)), 1.3), "float64"), tf.square(y)),
      );
    };
    const slope = tf.grad(loss), e = 1e-5;
    const moved = (of: Images): tf.Tensor =>
      tf.div(tf.sub(of(tf.add(x, tf.mul(v, e))), of(tf.sub(x, tf.mul(v, e)))), 2 * e);
    const along = (t: tf.Tensor): tf.Tensor => tf.sum(tf.mul(slope(t), v));
    const second = moved(slope), first = moved(f);
    const near = async (found: tf.Tensor, wanted: tf.Tensor, way: string): Promise<void> => {
      const [far] = await tf.max(tf.abs(tf.sub(found, wanted))).data<"float64">();
      const [most] = await tf.max(tf.abs(wanted)).data<"float64">();
      assert(far <= 1e-6 * Math.max(1, most), `${name}, ${way}: ${far} of ${most}`);
    };
    await near(tf.grad(along)(x), second, "second derivative");
    await near(tf.function((t: tf.Tensor) => tf.grad(along)(t))(x), second, "compiled");
    await near(tangent(f, x, v), first, "tangent");
    await near(tangent(slope, x, v), second, "tangent of the gradient");
  });
}

/** The derivative along a direction, forward. */
function tangent(f: Images, x: tf.Tensor, v: tf.Tensor): tf.Tensor {
  return tf.jvp(f, [x], [v])[1];
}
