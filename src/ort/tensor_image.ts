/** Pixels as elements of tensors, and back. */
import { Error, TypeError } from "../engine/core/throwing/builtin_errors.ts";
import type {
  ChannelValues,
  DrawableImage,
  ImageFormat,
  TensorFromImageOptions,
  TensorToImageOptions,
} from "./tensor_types.ts";

/** An image as elements of shape [1, channels, height, width]. */
export interface ImageElements {
  readonly data: Float32Array;
  readonly dims: readonly number[];
}

/** Pixels of an image, four bytes each. */
interface Pixels {
  readonly data: ArrayLike<number>;
  readonly width: number;
  readonly height: number;
}

/** The used part of a canvas, of a page or of a worker. */
interface Canvas {
  width: number;
  height: number;
  getContext(kind: "2d"): Context | null;
  toDataURL?(): string;
}
interface Context {
  drawImage(image: object, x: number, y: number): void;
  putImageData(image: ImageData, x: number, y: number): void;
  getImageData(x: number, y: number, width: number, height: number): ImageData;
}

/** The used classes and objects of pages. */
interface Page {
  readonly document?: { createElement(name: "canvas" | "img"): unknown };
  readonly OffscreenCanvas?: new (width: number, height: number) => Canvas;
  readonly HTMLImageElement?: new () => object;
  readonly ImageBitmap?: new () => object;
}

/** An image element that loads. */
type ImageElement = DrawableImage & {
  crossOrigin: string;
  src: string;
  decode(): Promise<void>;
};

/** Reads an image. Rejects with `Error` where the runtime cannot draw one that must be drawn. */
export async function readImage(
  image: ImageData | DrawableImage | string,
  options?: TensorFromImageOptions,
): Promise<ImageElements> {
  if (options?.tensorLayout === "NHWC") throw new Error("NHWC Tensor layout is not supported yet");
  const page = globalThis as unknown as Page;
  if (typeof image === "string") {
    // As onnxruntime does, which resizes no image of a URL.
    return elementsOf(drawn(await loadImage(page, image)), options);
  }
  if (typeof ImageData !== "undefined" && image instanceof ImageData) {
    return elementsOf(options === undefined ? image : placed(image, options), options);
  }
  const isElement = page.HTMLImageElement !== undefined && image instanceof page.HTMLImageElement;
  const isBitmap = page.ImageBitmap !== undefined && image instanceof page.ImageBitmap;
  if (!isElement && !isBitmap) {
    throw new Error("Input data provided is not supported - aborted tensor creation");
  }
  if (isBitmap && options === undefined) {
    throw new Error("Please provide image config with format for Imagebitmap");
  }
  if (isElement && options?.tensorFormat !== undefined) {
    throw new Error("Image input config format must be RGBA for HTMLImageElement");
  }
  const pixels = drawn(image as DrawableImage, isElement ? options : {});
  return elementsOf(pixels, isElement ? { ...options, tensorFormat: "RGBA" } : options);
}

async function loadImage(page: Page, url: string): Promise<ImageElement> {
  if (page.document === undefined) {
    throw new Error("Cannot load an image by its URL: this runtime has no document");
  }
  const element = page.document.createElement("img") as ImageElement;
  element.crossOrigin = "Anonymous";
  element.src = url;
  await element.decode();
  return element;
}

function makeCanvas(width: number, height: number): Canvas & { readonly context: Context } {
  const { document, OffscreenCanvas } = globalThis as unknown as Page;
  const canvas = document !== undefined
    ? document.createElement("canvas") as Canvas
    : OffscreenCanvas !== undefined
    ? new OffscreenCanvas(1, 1)
    : null;
  if (canvas === null) throw new Error("Canvas is not supported");
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d");
  if (context === null) throw new Error("Can not access image data");
  return Object.assign(canvas, { context });
}

/** Returns the wanted size of an image. */
function sizeOf(image: DrawableImage, options: TensorFromImageOptions = {}): [number, number] {
  const { resizedWidth, resizedHeight } = options;
  return resizedWidth === undefined || resizedHeight === undefined
    ? [image.width, image.height]
    : [resizedWidth, resizedHeight];
}

function drawn(image: DrawableImage, options?: TensorFromImageOptions): Pixels {
  const { context } = makeCanvas(image.width, image.height);
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, ...sizeOf(image, options));
}

function placed(image: ImageData, options: TensorFromImageOptions): Pixels {
  const [width, height] = sizeOf(image, options);
  const { context } = makeCanvas(width, height);
  context.putImageData(image, 0, 0);
  return context.getImageData(0, 0, width, height);
}

/** Returns the values of four channels; those that are not given are `rest`. */
function channels(values: ChannelValues | undefined, all: number, rest: number): number[] {
  if (values === undefined) return [all, all, all, all];
  if (typeof values === "number") return [values, values, values, values];
  return [values[0], values[1], values[2], values[3] ?? rest];
}

/** The planes of a tensor's channels: of red, green, blue and alpha, -1 for none. */
const PLANES: Readonly<Record<ImageFormat, readonly number[]>> = {
  RGB: [0, 1, 2, -1],
  RBG: [0, 2, 1, -1],
  BGR: [2, 1, 0, -1],
  RGBA: [0, 1, 2, 3],
};

function elementsOf(
  { data, width, height }: Pixels,
  { tensorFormat = "RGB", norm }: TensorFromImageOptions = {},
): ImageElements {
  const mean = channels(norm?.mean, 255, 255), bias = channels(norm?.bias, 0, 0);
  const count = tensorFormat === "RGBA" ? 4 : 3, stride = width * height;
  const out = new Float32Array(count * stride);
  (PLANES[tensorFormat] ?? PLANES.RGB).forEach((plane, c) => {
    if (plane < 0) return;
    for (let i = 0; i < stride; i++) {
      out[plane * stride + i] = (data[4 * i + c] + bias[c]) / mean[c];
    }
  });
  return { data: out, dims: [1, count, height, width] };
}

/** A tensor of an image. */
interface ImageTensor {
  readonly dims: readonly number[];
  readonly data: unknown;
}

/** The planes that red, green, blue and alpha come from. onnxruntime takes those of "BGR" as they lie. */
const SOURCES: Readonly<Record<ImageFormat, readonly number[]>> = { ...PLANES, BGR: PLANES.RGB };

/** Returns a tensor of an image as pixels. Throws `Error` for a format that the tensor cannot have. */
export function toImageData(tensor: ImageTensor, options?: TensorToImageOptions): ImageData {
  const { dims } = tensor, count = options?.tensorLayout === "NHWC" ? dims[3] : dims[1];
  const format = options?.format;
  if (
    options !== undefined &&
    (format !== undefined && count === 4 && format !== "RGBA" ||
      count === 3 && format !== "RGB" && format !== "BGR")
  ) {
    throw new Error("Tensor format doesn't match input tensor dims");
  }
  return pixelsOf(tensor, options);
}

function pixelsOf(
  { dims, data }: ImageTensor,
  options: TensorToImageOptions | null | undefined,
): ImageData {
  const { tensorLayout, format = "RGB", norm } = options ?? {};
  if (typeof ImageData === "undefined") throw new Error("Can not access image data");
  const [width, height] = tensorLayout === "NHWC" ? [dims[2], dims[1]] : [dims[3], dims[2]];
  if (!(data instanceof Object) || Array.isArray(data)) {
    throw new TypeError("A tensor of an image holds numbers");
  }
  const mean = channels(norm?.mean, 255, 255), bias = channels(norm?.bias, 0, 0);
  const planes = SOURCES[format] ?? SOURCES.RGB, stride = width * height;
  const image = new ImageData(width, height), values = data as ArrayLike<number>;
  for (let c = 0; c < 4; c++) {
    for (let i = 0; i < stride; i++) {
      image.data[4 * i + c] = planes[c] < 0
        ? 255
        : (Number(values[planes[c] * stride + i]) - bias[c]) * mean[c];
    }
  }
  return image;
}

/** Draws a tensor of an image. Returns a `data:` URL. Throws `Error` outside of pages. */
export function toDataUrl(tensor: ImageTensor, options?: TensorToImageOptions): string {
  const image = pixelsOf(tensor, options);
  const canvas = makeCanvas(image.width, image.height);
  canvas.context.putImageData(image, 0, 0);
  if (canvas.toDataURL === undefined) throw new Error("toDataURL is not supported");
  return canvas.toDataURL();
}
