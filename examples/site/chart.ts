/** A curve of losses over the images seen, on a logarithmic scale. */
/// <reference lib="dom" />

/** Marks of the vertical axis. */
const MARKS = [0.01, 0.03, 0.1, 0.3, 1, 3];

/** A curve that grows. */
export class LossChart {
  readonly #canvas: HTMLCanvasElement;
  #losses: number[] = [];
  #images = 0;
  #isDue = false;

  constructor(canvas: HTMLCanvasElement) {
    this.#canvas = canvas;
    new ResizeObserver(() => this.#drawSoon()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.#drawSoon());
  }

  /** Once for a frame that is shown, however many losses came for it. */
  #drawSoon(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  /** Adds losses; `images` have been seen now. */
  add(losses: readonly number[], images: number): void {
    this.#losses.push(...losses);
    this.#images = images;
    this.#drawSoon();
  }

  /** Forgets all. */
  clear(): void {
    this.#losses = [];
    this.#drawSoon();
  }

  #draw(): void {
    const canvas = this.#canvas, ratio = devicePixelRatio;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d")!;
    pen.scale(ratio, ratio);
    const style = getComputedStyle(canvas);
    const left = 36, bottom = height - 20;
    const y = (loss: number): number => {
      const [low, high] = [Math.log(MARKS[0]!), Math.log(MARKS.at(-1)!)];
      const part = (Math.log(Math.max(loss, 1e-6)) - low) / (high - low);
      return bottom - Math.min(1, Math.max(0, part)) * (bottom - 8);
    };
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = pen.strokeStyle = style.color;
    for (const mark of MARKS) {
      pen.globalAlpha = 0.75;
      pen.fillText(String(mark), 0, y(mark) + 4);
      pen.globalAlpha = 0.15;
      pen.fillRect(left, y(mark), width - left, 1);
    }
    pen.globalAlpha = 0.75;
    pen.textAlign = "right";
    if (this.#images > 0) pen.fillText(`${this.#images} images`, width, height - 4);
    this.#curve(pen, (i) => left + i * (width - left), y, style.accentColor);
  }

  /** Each batch as a faint line, and their running mean. */
  #curve(
    pen: CanvasRenderingContext2D,
    x: (part: number) => number,
    y: (loss: number) => number,
    colour: string,
  ): void {
    const losses = this.#losses, last = Math.max(1, losses.length - 1);
    const line = (value: (loss: number) => number): void => {
      pen.beginPath();
      losses.forEach((loss, i) => pen.lineTo(x(i / last), y(value(loss))));
      pen.stroke();
    };
    pen.globalAlpha = 0.35;
    line((loss) => loss);
    pen.globalAlpha = 1;
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    let mean = losses[0] ?? 0;
    line((loss) => mean += (loss - mean) * 0.05);
  }
}
