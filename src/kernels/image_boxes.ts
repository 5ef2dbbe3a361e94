/**
 * Non-maximum suppression on the host: keeps the best of boxes that overlap.
 * May import nothing.
 */

/** What may be asked of {@linkcode suppress}. */
export interface SuppressOptions {
  /** At most so many boxes. */
  readonly most: number;
  /** Boxes that overlap a kept one by as much are dropped. */
  readonly iouThreshold: number;
  /** Boxes of no more than this score are dropped. */
  readonly scoreThreshold: number;
  /** Above 0, overlap also lowers scores, as a Gaussian of this deviation squared. */
  readonly softSigma: number;
}

/** Kept boxes, best first. */
export interface Kept {
  /** Their indices. */
  readonly indices: number[];
  /** Their scores, lowered by overlaps where that is asked for. */
  readonly scores: number[];
}

interface Candidate {
  score: number;
  readonly box: number;
  /** Kept boxes before this one have had their say. */
  checked: number;
}

/** True where `a` comes before `b`: better, or as good and earlier. */
function isBetter(a: Candidate, b: Candidate): boolean {
  return a.score > b.score || (a.score === b.score && a.box < b.box);
}

/** Chooses boxes `[y1, x1, y2, x2]` by score. */
export function suppress(
  boxes: ArrayLike<number>,
  scores: ArrayLike<number>,
  options: SuppressOptions,
): Kept {
  const { most, iouThreshold, scoreThreshold, softSigma } = options;
  const exponent = softSigma > 0 ? -0.5 / softSigma : 0;
  const queue: Candidate[] = [];
  for (let i = 0; i < scores.length; i++) {
    if (scores[i] > scoreThreshold) queue.push({ score: scores[i], box: i, checked: 0 });
  }
  // Worst first: the best is popped from the end.
  queue.sort((a, b) => (isBetter(a, b) ? 1 : -1));
  const kept: Kept = { indices: [], scores: [] };
  while (kept.indices.length < most && queue.length > 0) {
    const candidate = queue.pop()!;
    const before = candidate.score;
    if (before < scoreThreshold) break;
    let dropped = false;
    for (let j = kept.indices.length - 1; j >= candidate.checked; j--) {
      const iou = overlap(boxes, candidate.box, kept.indices[j]);
      if (iou >= iouThreshold) {
        dropped = true;
        break;
      }
      candidate.score *= iou <= iouThreshold ? Math.exp(exponent * iou * iou) : 0;
      if (candidate.score <= scoreThreshold) break;
    }
    candidate.checked = kept.indices.length;
    if (dropped) continue;
    if (candidate.score === before) {
      kept.indices.push(candidate.box);
      kept.scores.push(candidate.score);
    } else if (candidate.score > scoreThreshold) insert(queue, candidate);
  }
  return kept;
}

function insert(queue: Candidate[], candidate: Candidate): void {
  let low = 0, high = queue.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBetter(candidate, queue[middle])) low = middle + 1;
    else high = middle;
  }
  queue.splice(low, 0, candidate);
}

/** Intersection over union; 0 for boxes without area. */
function overlap(boxes: ArrayLike<number>, i: number, j: number): number {
  const side = (k: number, a: number): [number, number] => {
    const p = boxes[4 * k + a], q = boxes[4 * k + a + 2];
    return p < q ? [p, q] : [q, p];
  };
  const [top, bottom] = side(i, 0), [left, right] = side(i, 1);
  const [top2, bottom2] = side(j, 0), [left2, right2] = side(j, 1);
  const area = (bottom - top) * (right - left), area2 = (bottom2 - top2) * (right2 - left2);
  if (area <= 0 || area2 <= 0) return 0;
  const height = Math.max(0, Math.min(bottom, bottom2) - Math.max(top, top2));
  const width = Math.max(0, Math.min(right, right2) - Math.max(left, left2));
  const shared = height * width;
  return shared / (area + area2 - shared);
}
