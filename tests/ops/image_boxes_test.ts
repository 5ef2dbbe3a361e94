/** Which boxes are kept, against the plainest way to say it. */

import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { Dice } from "../devices/cpu/oracle_random.ts";

type Box = readonly number[];

function overlap(a: Box, b: Box): number {
  const [y, x] = [0, 1].map((d) => {
    const ends = [a, b].map((box) => [Math.min(box[d], box[d + 2]), Math.max(box[d], box[d + 2])]);
    return {
      shared: Math.max(0, Math.min(ends[0][1], ends[1][1]) - Math.max(ends[0][0], ends[1][0])),
      lengths: ends.map(([low, high]) => high - low),
    };
  });
  const areas = [0, 1].map((i) => y.lengths[i] * x.lengths[i]);
  const shared = y.shared * x.shared;
  return areas.some((area) => area <= 0) ? 0 : shared / (areas[0] + areas[1] - shared);
}

/** Takes the best again and again; each time, what overlaps it is dropped or worth less. */
function kept(
  boxes: readonly Box[],
  marks: readonly number[],
  { most, iou, least, sigma }: { most: number; iou: number; least: number; sigma: number },
): number[] {
  const scores = marks.slice(), list: number[] = [];
  const left = new Set(marks.keys());
  while (list.length < most) {
    for (const i of left) if (!(scores[i] > least)) left.delete(i);
    if (left.size === 0) break;
    const best = [...left].reduce((b, i) => (scores[i] > scores[b] ? i : b));
    list.push(best);
    left.delete(best);
    for (const i of left) {
      const shared = overlap(boxes[best], boxes[i]);
      if (shared >= iou) left.delete(i);
      else if (sigma > 0) scores[i] *= Math.exp(-0.5 / sigma * shared * shared);
    }
  }
  return list;
}

Deno.test("nonMaxSuppression() takes the best again and again", () => {
  const dice = new Dice(7);
  for (let k = 0; k < 300; k++) {
    const count = dice.between(0, dice.chance(0.2) ? 200 : 12);
    // Few places and scores, so that boxes are alike, turned about or empty.
    const boxes = Array.from(
      { length: count },
      () => [0, 1, 2, 3].map(() => dice.between(0, 8) / 4),
    );
    const soft = dice.chance(0.3);
    // Factors are of positive scores; rounded, they must not meet their like.
    const scores = boxes.map((_, i) =>
      soft ? Math.fround(Math.abs(Math.sin(i + 1))) : dice.between(-8, 8) / 8
    );
    const options = {
      most: dice.between(0, 30),
      iou: dice.pick(0.25, 0.5, 1),
      least: dice.pick(-Infinity, -1, 0, 0.25),
      sigma: soft ? 0.5 : 0,
    };
    const { most, iou, least, sigma } = options;
    const given = [tf.tensor2d(boxes, [count, 4]), tf.tensor1d(scores)] as const;
    const { selectedIndices, selectedScores } = tf.image.nonMaxSuppressionWithScore(
      ...given,
      most,
      iou,
      least,
      sigma,
    );
    const wanted = kept(boxes, scores, options);
    assertEquals(selectedIndices.arraySync(), wanted, `case ${k}: ${JSON.stringify(options)}`);
    assertEquals(selectedScores.shape, selectedIndices.shape);
    if (!soft) {
      assertEquals(selectedScores.arraySync(), wanted.map((i) => scores[i]));
      assertEquals(tf.image.nonMaxSuppression(...given, most, iou, least).arraySync(), wanted);
    }
  }
});
