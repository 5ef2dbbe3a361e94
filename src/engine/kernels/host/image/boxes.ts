/** Non-maximum suppression on the host: keeps the best of boxes that overlap. */

export interface SuppressOptions {
  /** At most so many boxes. */
  readonly most: number;
  /** Boxes that overlap a kept one by more are dropped, unless overlaps lower scores instead. */
  readonly iouThreshold: number;
  /** Boxes with at most this score are dropped. */
  readonly scoreThreshold: number;
  /** Above 0, overlap also lowers scores, as a Gaussian of this deviation squared. */
  readonly softSigma: number;
  /**
   * True: as in TensorFlow.js, boxes that overlap by exactly the threshold are dropped, also where overlaps lower
   * scores.
   */
  readonly tfjs?: boolean;
}

/** Kept boxes, best first. */
export interface Kept {
  readonly indices: number[];
  /** Their scores, which overlaps may have lowered. */
  readonly scores: number[];
}

/** A queue of candidates, the best first: of equal ones, the earlier box. */
class Queue {
  /** By box. */
  readonly scores: number[] = [];
  /** A heap: no box is better than that at half its index. */
  readonly #boxes: number[] = [];

  constructor(scores: ArrayLike<number>, above: number) {
    for (let box = 0; box < scores.length; box++) {
      const score = scores[box];
      this.scores.push(score);
      if (score > above) this.#boxes.push(box);
    }
    for (let at = (this.size >> 1) - 1; at >= 0; at--) this.#sink(at, this.#boxes[at]);
  }

  get size(): number {
    return this.#boxes.length;
  }

  take(): number {
    const best = this.#boxes[0], last = this.#boxes.pop()!;
    if (this.size > 0) this.#sink(0, last);
    return best;
  }

  add(box: number): void {
    let at = this.size;
    for (; at > 0; at = (at - 1) >> 1) {
      const above = this.#boxes[(at - 1) >> 1];
      if (!this.#isBetter(box, above)) break;
      this.#boxes[at] = above;
    }
    this.#boxes[at] = box;
  }

  #sink(place: number, box: number): void {
    let at = place;
    for (;;) {
      let below = 2 * at + 1;
      if (below >= this.size) break;
      const other = below + 1;
      if (other < this.size && this.#isBetter(this.#boxes[other], this.#boxes[below])) {
        below = other;
      }
      if (!this.#isBetter(this.#boxes[below], box)) break;
      this.#boxes[at] = this.#boxes[below];
      at = below;
    }
    this.#boxes[at] = box;
  }

  #isBetter(a: number, b: number): boolean {
    const difference = this.scores[a] - this.scores[b];
    return difference > 0 || (!(difference < 0) && a < b);
  }
}

/** A box with its lesser edges first. */
interface Frame {
  readonly top: number;
  readonly left: number;
  readonly bottom: number;
  readonly right: number;
  readonly area: number;
}

/** Returns the overlap of two boxes, by their numbers. */
export type Overlap = (box: number, kept: number) => number;

/** Makes the overlap of boxes `[y1, x1, y2, x2]`: their intersection over their union. */
export function overlapOf(boxes: ArrayLike<number>): Overlap {
  const frames = new Array<Frame | undefined>(boxes.length >> 2);
  return (a, b) => overlap(frames[a] ??= frameOf(boxes, a), frames[b] ??= frameOf(boxes, b));
}

export function suppress(
  overlap: Overlap,
  scores: ArrayLike<number>,
  options: SuppressOptions,
): Kept {
  const { most, iouThreshold, scoreThreshold, softSigma, tfjs = false } = options;
  const exponent = softSigma > 0 ? -0.5 / softSigma : 0;
  const limit = exponent !== 0 && !tfjs ? Infinity : iouThreshold;
  const queue = new Queue(scores, scoreThreshold), marks = queue.scores;
  // Number of kept boxes that a requeued box was already compared with.
  const checked: (number | undefined)[] = [];
  const indices: number[] = [];
  while (indices.length < most && queue.size > 0) {
    const box = queue.take();
    const before = marks[box];
    if (before < scoreThreshold) break;
    let score = before, dropped = false;
    for (let j = indices.length - 1; j >= (checked[box] ?? 0); j--) {
      const shared = overlap(box, indices[j]), iou = tfjs ? shared : Math.fround(shared);
      if (tfjs ? iou >= limit : iou > limit) {
        dropped = true;
        break;
      }
      if (!(iou <= limit)) score *= 0;
      else if (exponent !== 0) score *= Math.exp(exponent * iou * iou);
      if (score <= scoreThreshold) break;
    }
    if (dropped) continue;
    if (score === before) {
      indices.push(box);
    } else if (score > scoreThreshold) {
      checked[box] = indices.length;
      marks[box] = score;
      queue.add(box);
    }
  }
  return { indices, scores: indices.map((box) => marks[box]) };
}

function frameOf(boxes: ArrayLike<number>, box: number): Frame {
  const y1 = boxes[4 * box], x1 = boxes[4 * box + 1];
  const y2 = boxes[4 * box + 2], x2 = boxes[4 * box + 3];
  const top = y1 < y2 ? y1 : y2, bottom = y1 < y2 ? y2 : y1;
  const left = x1 < x2 ? x1 : x2, right = x1 < x2 ? x2 : x1;
  return { top, left, bottom, right, area: (bottom - top) * (right - left) };
}

/** Intersection over union; 0 for boxes without area. */
function overlap(a: Frame, b: Frame): number {
  if (a.area <= 0 || b.area <= 0) return 0;
  const height = (a.bottom < b.bottom ? a.bottom : b.bottom) - (a.top > b.top ? a.top : b.top);
  const width = (a.right < b.right ? a.right : b.right) - (a.left > b.left ? a.left : b.left);
  const shared = height > 0 && width > 0 ? height * width : 0;
  return shared / (a.area + b.area - shared);
}
