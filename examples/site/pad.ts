/** A pad to draw a digit on, and the digit as the network knows digits: in a box of 20 pixels, its weight in the middle of 28. */
/// <reference lib="dom" />

const SIZE = 28, BOX = 20;

/** A canvas that one draws on with a mouse, a pen or a finger. */
export class DrawingPad {
  readonly #canvas: HTMLCanvasElement;
  readonly #pen: CanvasRenderingContext2D;
  readonly #changed: () => void;
  #isEmpty = true;

  constructor(canvas: HTMLCanvasElement, changed: () => void) {
    this.#canvas = canvas;
    this.#changed = changed;
    this.#pen = canvas.getContext("2d", { willReadFrequently: true })!;
    this.#pen.lineCap = this.#pen.lineJoin = "round";
    this.#pen.lineWidth = canvas.width / 13;
    this.#pen.strokeStyle = "#fff";
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.#pen.beginPath();
      this.#draw(event);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (canvas.hasPointerCapture(event.pointerId)) this.#draw(event);
    });
  }

  #draw(event: PointerEvent): void {
    const { left, top, width, height } = this.#canvas.getBoundingClientRect();
    const x = (event.clientX - left) / width * this.#canvas.width;
    const y = (event.clientY - top) / height * this.#canvas.height;
    this.#pen.lineTo(x, y);
    this.#pen.stroke();
    this.#isEmpty = false;
    this.#changed();
  }

  /** Wipes it. */
  clear(): void {
    this.#pen.clearRect(0, 0, this.#canvas.width, this.#canvas.height);
    this.#isEmpty = true;
  }

  /** True until something is drawn. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** Shows an image of 28 × 28 bytes. */
  show(pixels: Uint8Array<ArrayBuffer>): void {
    this.clear();
    const small = new OffscreenCanvas(SIZE, SIZE);
    paint(small.getContext("2d")!, pixels);
    this.#pen.drawImage(small, 0, 0, this.#canvas.width, this.#canvas.height);
    this.#isEmpty = false;
    this.#changed();
  }

  /** Returns the drawing as 28 × 28 bytes; null for an empty one. */
  pixels(): Uint8Array<ArrayBuffer> | null {
    const { width, height } = this.#canvas;
    const { data } = this.#pen.getImageData(0, 0, width, height);
    let [left, top, right, bottom, sum, sumX, sumY] = [width, height, 0, 0, 0, 0, 0];
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const ink = data[4 * (y * width + x)]! * data[4 * (y * width + x) + 3]! / 255;
        if (ink < 32) continue;
        [left, right] = [Math.min(left, x), Math.max(right, x + 1)];
        [top, bottom] = [Math.min(top, y), Math.max(bottom, y + 1)];
        sum += ink;
        sumX += ink * x;
        sumY += ink * y;
      }
    }
    if (sum === 0) return null;
    const scale = BOX / Math.max(right - left, bottom - top);
    const small = new OffscreenCanvas(SIZE, SIZE).getContext("2d")!;
    small.fillRect(0, 0, SIZE, SIZE);
    small.imageSmoothingQuality = "high";
    const [x, y] = [SIZE / 2 - sumX / sum * scale, SIZE / 2 - sumY / sum * scale];
    small.drawImage(this.#canvas, x, y, width * scale, height * scale);
    const image = small.getImageData(0, 0, SIZE, SIZE).data;
    return Uint8Array.from({ length: SIZE * SIZE }, (_, i) => image[4 * i]!);
  }
}

/** Paints 28 × 28 bytes as greys. */
export function paint(
  pen: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D,
  pixels: Uint8Array<ArrayBuffer>,
): void {
  const image = pen.createImageData(SIZE, SIZE);
  pixels.forEach((v, i) => image.data.set([v, v, v, 255], 4 * i));
  pen.putImageData(image, 0, 0);
}
