// Makes the files: scenes of one to three digits of MNIST, every other one a JPEG, and a line of JSON for each with its boxes.

import type { NdArray } from "@weft/weft";
import { NdArray as Pixels } from "@weft/weft";
import { encodeJpeg, encodePng } from "@weft/weft/image";
import { loadMnist } from "../mnist/files.ts";
import { seeded } from "../mnist/random.ts";

/** Pixels of a scene along each side. */
export const SIDE = 64;
const DIGIT = 28;

/** Writes `count` scenes and `scenes.jsonl`. */
export async function makeScenes(folder: string, count: number): Promise<void> {
  const { train: { images } } = await loadMnist();
  const random = seeded(7), below = (n: number): number => Math.floor(random() * n);
  const lines: string[] = [];
  for (let i = 0; i < count; i++) {
    const scene = new Uint8Array(SIDE * SIDE);
    const boxes = Array.from({ length: 1 + below(3) }, () => {
      const [y, x] = [below(SIDE - DIGIT), below(SIDE - DIGIT)];
      draw(scene, images, below(images.shape[0]), y, x);
      return [y, x, DIGIT, DIGIT];
    });
    const image = new Pixels("uint8", [SIDE, SIDE, 1], scene);
    const file = `${folder}/${i}.${i % 2 === 0 ? "png" : "jpg"}`;
    await Deno.writeFile(file, i % 2 === 0 ? encodePng(image) : encodeJpeg(image));
    lines.push(JSON.stringify({ id: i, file, boxes }));
  }
  await Deno.writeTextFile(`${folder}/scenes.jsonl`, lines.join("\n"));
}

function draw(scene: Uint8Array, { data }: NdArray, digit: number, y: number, x: number): void {
  for (let k = 0; k < DIGIT * DIGIT; k++) {
    const at = (y + Math.floor(k / DIGIT)) * SIDE + x + k % DIGIT;
    scene[at] = Math.max(scene[at], Number(data[digit * DIGIT * DIGIT + k]));
  }
}
