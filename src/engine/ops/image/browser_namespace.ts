/** The namespace `tf.browser`: converts images of pages to tensors, and back. */
import { describe } from "../../core/convert.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { isShape } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { tensor } from "../array/creation.ts";
import { checkPixels } from "./check_pixels.ts";
import { brief } from "../../core/text.ts";

/** Pixels in the form of pages: four bytes each, rows from the top. */
export interface PixelData {
  /** Columns. */
  readonly width: number;
  /** Rows. */
  readonly height: number;
  /** Red, green, blue, alpha of each pixel. */
  readonly data: ArrayLike<number>;
}

/** The used part of a canvas. */
export interface CanvasLike {
  /** Columns. */
  width: number;
  /** Rows. */
  height: number;
  /** The drawing context. */
  getContext(kind: "2d"): unknown;
}

/** A source of pixels: pixel data, a canvas, or any image or video that a canvas can draw. */
export type PixelSource = PixelData | CanvasLike | {
  readonly width: number;
  readonly height: number;
};

interface Context {
  getImageData(x: number, y: number, width: number, height: number): PixelData;
  putImageData(image: unknown, x: number, y: number): void;
  drawImage(image: unknown, x: number, y: number, width: number, height: number): void;
}

/**
 * Reads the pixels of an image, a canvas, a video or pixel data as an int32 tensor `[height, width, numChannels]` of
 * values 0 to 255. Throws `ValueError` for a number of channels that is not 1 to 4, `TypeError` for a source without
 * pixels. Follows TensorFlow.js `tf.browser.fromPixels`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = { width: 1, height: 1, data: new Uint8ClampedArray([1, 2, 3, 255]) };
 * console.log(tf.browser.fromPixels(image).arraySync()); // [[[1, 2, 3]]]
 * ```
 */
export function fromPixels(pixels: PixelSource, numChannels: number = 3): Tensor {
  if (![1, 2, 3, 4].includes(numChannels)) {
    throw new ValueError(
      `Cannot take ${brief(numChannels)} channels of pixels: fromPixels takes 1 to 4 of them`,
    );
  }
  const { width, height, data } = pixelsOf(pixels);
  if (!isShape([height, width]) || !(data?.length >= width * height * 4)) {
    throw new ValueError(
      `Cannot read ${width} by ${height} pixels of 4 bytes each: data has ${data?.length} bytes`,
    );
  }
  const out = new Int32Array(width * height * numChannels);
  for (let i = 0, to = 0; to < out.length; i += 4) {
    for (let c = 0; c < numChannels; c++) out[to++] = data[i + c];
  }
  return tensor(out, [height, width, numChannels], "int32");
}

/**
 * Does the same as {@linkcode fromPixels} for images that may still be loading: it waits until they are decoded.
 * Rejects if that fails, and as `fromPixels` throws. Follows TensorFlow.js `tf.browser.fromPixelsAsync`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const image = { width: 1, height: 1, data: new Uint8ClampedArray([1, 2, 3, 255]) };
 * console.log((await tf.browser.fromPixelsAsync(image, 1)).arraySync()); // [[[1]]]
 * ```
 */
export async function fromPixelsAsync(
  pixels: PixelSource,
  numChannels: number = 3,
): Promise<Tensor> {
  await (pixels as { decode?(): Promise<void> } | null)?.decode?.();
  return fromPixels(pixels, numChannels);
}

/** True for what has pixels, or a picture's size under one of its names. */
function hasPixels(x: unknown): x is PixelSource {
  return typeof x === "object" && x !== null &&
    ["data", "width", "height", "naturalWidth", "videoWidth"].some((name) => name in x);
}

function pixelsOf(pixels: PixelSource): PixelData {
  if (!hasPixels(pixels)) {
    throw new TypeError(
      `Cannot read pixels: pixels passed to tf.browser.fromPixels() must be pixel data, a canvas, an image or a video, but was ${
        describe(pixels)
      }`,
    );
  }
  if ("data" in pixels) return pixels;
  // The displayed size may differ from the image's own.
  const { naturalWidth, naturalHeight, videoWidth, videoHeight } = pixels as Record<string, number>;
  const width = videoWidth ?? naturalWidth ?? pixels.width;
  const height = videoHeight ?? naturalHeight ?? pixels.height;
  // Images and videos have no size before they are loaded, hidden canvases may be empty.
  if (width === 0 || height === 0) {
    throw new ValueError(
      `Cannot read pixels: the source is ${width} by ${height}, await its load as tf.browser.fromPixelsAsync() does`,
    );
  }
  if ("getContext" in pixels) return contextOf(pixels).getImageData(0, 0, width, height);
  if (!isShape([height, width])) {
    throw new TypeError(`Cannot read pixels of an image: its size is ${width} by ${height}`);
  }
  const context = contextOf(newCanvas(width, height));
  context.drawImage(pixels, 0, 0, width, height);
  return context.getImageData(0, 0, width, height);
}

function contextOf(canvas: CanvasLike): Context {
  const context = canvas.getContext("2d") as Context | null;
  if (context === null) {
    throw new ValueError("Cannot draw: the canvas has no 2d context, it may have another already");
  }
  return context;
}

function newCanvas(width: number, height: number): CanvasLike {
  const { OffscreenCanvas } = globalThis as {
    OffscreenCanvas?: new (width: number, height: number) => CanvasLike;
  };
  if (OffscreenCanvas === undefined) {
    throw new TypeError(
      "Cannot read pixels of an image: there is no OffscreenCanvas here, pass { width, height, data }",
    );
  }
  return new OffscreenCanvas(width, height);
}

/**
 * Returns the pixels of an image: bytes of red, green, blue and alpha. The image is `[height, width]` or
 * `[height, width, channels]` with 1, 3 or 4 channels, of floats from 0 to 1 or of int32 from 0 to 255 (the dtype of
 * arrays); with `canvas` it is drawn there too. Rejects with `ValueError` for another shape, dtype or range. Follows
 * TensorFlow.js `tf.browser.toPixels`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log([...await tf.browser.toPixels(tf.tensor([[0, 1]]))]); // [0, 0, 0, 255, 255, 255, 255, 255]
 * ```
 */
export async function toPixels(
  img: TensorLike,
  canvas?: CanvasLike,
): Promise<Uint8ClampedArray<ArrayBuffer>> {
  const image = img instanceof Tensor ? img : tensor(img, undefined, "int32");
  try {
    const { dtype, shape } = image;
    const [height, width, depth = 1] = shape;
    checkPixels(image);
    const values = await image.data() as ArrayLike<number>;
    const most = dtype === "float32" ? 1 : 255;
    const bytes = new Uint8ClampedArray(width * height * 4);
    for (let i = 0; i < width * height; i++) {
      for (let c = 0; c < 4; c++) {
        const value = c < depth || (depth === 1 && c < 3)
          ? values[i * depth + (depth === 1 ? 0 : c)]
          : most;
        if (!(value >= 0 && value <= most)) {
          throw new ValueError(
            `Tensor values for a ${dtype} Tensor must be in the range [0 - ${most}] but encountered ${value}`,
          );
        }
        bytes[4 * i + c] = Math.round(value * (255 / most));
      }
    }
    if (canvas) draw(bytes, width, height, canvas);
    return bytes;
  } finally {
    if (image !== img) image.dispose();
  }
}

function draw(
  bytes: Uint8ClampedArray<ArrayBuffer>,
  width: number,
  height: number,
  canvas: CanvasLike,
): void {
  const { ImageData } = globalThis as {
    ImageData?: new (data: Uint8ClampedArray<ArrayBuffer>, w: number, h: number) => unknown;
  };
  if (ImageData === undefined) {
    throw new TypeError("Cannot draw: there is no ImageData here, use the bytes");
  }
  canvas.width = width;
  canvas.height = height;
  contextOf(canvas).putImageData(new ImageData(bytes, width, height), 0, 0);
}
