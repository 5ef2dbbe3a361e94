/**
 * Synchronous device-to-host copies in browsers, which map buffers only asynchronously but expose a canvas's pixels at
 * once: four bytes are a pixel. A canvas without alpha gives three of them unchanged, one with premultiplied alpha
 * gives the fourth.
 */
import { UnavailableError } from "../../core/errors.ts";

/** The used part of canvases, whose types are missing where WebGPU's exist. */
interface Canvas {
  width: number;
  height: number;
  getContext(kind: string, options?: object): unknown;
}
interface GpuContext {
  configure(options: object): void;
  getCurrentTexture(): GPUTexture;
}
interface Context2d {
  globalCompositeOperation: string;
  drawImage(image: Canvas, x: number, y: number): void;
  getImageData(x: number, y: number, width: number, height: number): { data: Uint8ClampedArray };
}
type CanvasClass = new (width: number, height: number) => Canvas;
interface Screen {
  readonly canvas: Canvas;
  readonly context: GpuContext;
}

/** Pixels of a row: rows of copies are multiples of 256 bytes. */
const WIDTH = 1024;
/** Rows that are read together: 16 MiB; every WebGPU supports textures twice as high. */
const MOST_ROWS = 4096;
/** The texture's words: red is the first byte in memory, as all processors of browsers order them. */
const FORMAT = "rgba8unorm", COLOR = 0x00ffffff, ALPHA = 0xff000000;

export class CanvasReadback {
  /**
   * True: emulated GPUs are used too. Chromium's GPU process ends when one draws on a canvas, unless the compositor
   * uses Vulkan as well, which no page can ask (seen with Chromium 156 and SwiftShader).
   */
  static trustsSoftware = false;
  readonly #device: GPUDevice;
  readonly #opaque: Screen;
  readonly #blended: Screen;
  readonly #canvas: Canvas;
  readonly #pixels: Context2d;
  /** Holds the number of the copy: a picture without it is stale. */
  readonly #mark: GPUBuffer;
  #copies = 0;

  private constructor(device: GPUDevice, Canvas: CanvasClass) {
    const screen = (alphaMode: string): Screen => {
      const canvas = new Canvas(WIDTH, 1);
      const context = canvas.getContext("webgpu") as GpuContext;
      const usage = GPUTextureUsage.COPY_DST | GPUTextureUsage.RENDER_ATTACHMENT;
      context.configure({ device, format: FORMAT, usage, alphaMode });
      return { canvas, context };
    };
    this.#device = device;
    this.#opaque = screen("opaque");
    this.#blended = screen("premultiplied");
    this.#canvas = new Canvas(WIDTH, 1);
    this.#pixels = this.#canvas.getContext("2d", { willReadFrequently: true }) as Context2d;
    const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    this.#mark = device.createBuffer({ size: 4, usage });
  }

  /**
   * Makes a reader, or returns null where there are no canvases or they alter pixels: some browsers blur them for
   * privacy.
   */
  static of(device: GPUDevice): CanvasReadback | null {
    const { OffscreenCanvas } = globalThis as { OffscreenCanvas?: CanvasClass };
    if (OffscreenCanvas === undefined) return null;
    try {
      const reader = new CanvasReadback(device, OffscreenCanvas);
      return reader.#isExact() ? reader : null;
    } catch {
      return null;
    }
  }

  /** Tests every value of every byte, beside others. */
  #isExact(): boolean {
    const wanted = Uint32Array.from({ length: WIDTH }, (_, i) => Math.imul(i + 1, 0x9e3779b1));
    const { size, usage } = { size: wanted.byteLength, usage: GPUBufferUsage.COPY_SRC };
    const buffer = this.#device.createBuffer({ size, usage, mappedAtCreation: true });
    new Uint32Array(buffer.getMappedRange()).set(wanted);
    buffer.unmap();
    const read = new Uint32Array(this.read(buffer, size));
    buffer.destroy();
    return read.every((word, i) => word === wanted[i]);
  }

  /**
   * Reads the first `bytes` of a buffer, a multiple of 4, after all submitted work. Throws `UnavailableError` where
   * that fails.
   */
  read(buffer: GPUBuffer, bytes: number): ArrayBuffer {
    const words = new Uint32Array(bytes / 4);
    for (let at = 0; at < words.length; at += WIDTH * MOST_ROWS) {
      this.#readChunk(buffer, at, words.subarray(at, at + WIDTH * MOST_ROWS));
    }
    return words.buffer;
  }

  #readChunk(buffer: GPUBuffer, first: number, words: Uint32Array): void {
    const rows = Math.ceil(words.length / WIDTH), last = words.length - (rows - 1) * WIDTH;
    // A power of two, so that reads of changing sizes seldom need other canvases; one more for the mark.
    const height = 2 ** Math.ceil(Math.log2(rows)) + 1;
    const mark = Uint32Array.of(Math.imul(++this.#copies, 0x9e3779b1));
    this.#device.queue.writeBuffer(this.#mark, 0, mark);
    const encoder = this.#device.createCommandEncoder();
    for (const { canvas, context } of [this.#opaque, this.#blended]) {
      if (canvas.height !== height) canvas.height = height;
      const texture = context.getCurrentTexture();
      const copy = (row: number, size: [number, number]): void =>
        encoder.copyBufferToTexture(
          { buffer, offset: 4 * (first + row * WIDTH), bytesPerRow: 4 * WIDTH },
          { texture, origin: [0, row] },
          size,
        );
      // The last row may end before the buffer's memory could fill it.
      if (rows > 1) copy(0, [WIDTH, rows - 1]);
      copy(rows - 1, [last, 1]);
      encoder.copyBufferToTexture({ buffer: this.#mark }, { texture, origin: [0, rows] }, [1, 1]);
    }
    this.#device.queue.submit([encoder.finish()]);
    const color = this.#draw(this.#opaque, rows), alpha = this.#draw(this.#blended, rows);
    const wordAt = (i: number): number => (color[i] & COLOR) | (alpha[i] & ALPHA);
    if (wordAt(WIDTH * rows) >>> 0 !== mark[0]) {
      throw new UnavailableError("Cannot read GPU memory: the canvas does not show the copy");
    }
    for (let i = 0; i < words.length; i++) words[i] = wordAt(i);
  }

  #draw({ canvas }: Screen, rows: number): Uint32Array {
    if (this.#canvas.height !== canvas.height) this.#canvas.height = canvas.height;
    this.#pixels.globalCompositeOperation = "copy";
    this.#pixels.drawImage(canvas, 0, 0);
    return new Uint32Array(this.#pixels.getImageData(0, 0, WIDTH, rows + 1).data.buffer);
  }
}
