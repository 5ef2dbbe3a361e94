/** Faces in a picture: the network BlazeFace, and what its numbers mean. */

import * as tf from "@weft/weft";

/** A face, in pixels of the picture. */
export interface Face {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  /** From 0 to 1. */
  readonly sure: number;
  /** Eyes, nose, mouth and ears, each as x and y. */
  readonly points: readonly (readonly [number, number])[];
}

/** The side of the square that the network sees. */
const SIDE = 256;

/** Cells of its two grids: how wide they are, and how many guesses each has. */
const GRIDS = [{ stride: 16, guesses: 2 }, { stride: 32, guesses: 6 }];

/** Faces of which it is less sure, and those that lie on a surer one, are left out. */
const SURE = 0.5, OVERLAP = 0.3, MOST = 4;

const POINTS = 6;

/** Where guesses stand: the middles of the cells, x and y. */
function middles(): [number, number][] {
  return GRIDS.flatMap(({ stride, guesses }) => {
    const cells = SIDE / stride;
    return Array.from({ length: cells * cells * guesses }, (_, i): [number, number] => {
      const cell = Math.floor(i / guesses);
      return [(cell % cells + 0.5) * stride, (Math.floor(cell / cells) + 0.5) * stride];
    });
  });
}

/** Looks for faces. */
export class FaceFinder {
  readonly #model: tf.GraphModel;
  readonly #middles = middles();

  private constructor(model: tf.GraphModel) {
    this.#model = model;
  }

  /** Loads the network. */
  static async load(): Promise<FaceFinder> {
    return new FaceFinder(
      await tf.loadGraphModel(new URL("./models/blazeface.json", import.meta.url)),
    );
  }

  /** The faces in a picture [height, width, 4] of bytes. */
  async find(picture: tf.NdArray): Promise<Face[]> {
    const [height, width] = picture.shape as [number, number];
    const side = Math.max(height, width);
    using _scope = tf.scope();
    const colours = tf.slice(tf.cast(tf.tensor(picture), "float32"), [0, 0, 0], [-1, -1, 3]);
    const square = tf.pad(colours, [[0, side - height], [0, side - width], [0, 0]]);
    const batch = tf.expandDims(square, 0) as tf.Tensor4D;
    const small = batch.resizeBilinear([SIDE, SIDE]);
    const seen = tf.sub(tf.div(small, 127.5), 1);
    const outputs = await this.#model.executeAsync(seen) as tf.Tensor[];
    // A grid has one output of how sure it is and one of where: the finer grid has more guesses.
    const joined = (width: number) =>
      tf.concat(
        outputs.filter(({ shape }) => shape[2] === width).sort((a, b) => b.size - a.size),
        1,
      );
    const [sure, where] = await Promise.all([
      tf.sigmoid(joined(1)).data(),
      joined(4 + 2 * POINTS).data(),
    ]);
    tf.dispose(outputs);
    return this.#faces(
      sure as Float32Array,
      where as Float32Array,
      side / SIDE,
    );
  }

  /** Guesses that are good, the surest first, each elsewhere. */
  #faces(sure: Float32Array, where: Float32Array, scale: number): Face[] {
    const good = [...sure.keys()].filter((i) => sure[i]! >= SURE)
      .sort((a, b) => sure[b]! - sure[a]!);
    const faces: Face[] = [];
    for (const i of good) {
      const face = this.#face(where.subarray(i * 16, (i + 1) * 16), i, sure[i]!, scale);
      if (faces.length < MOST && faces.every((f) => overlap(f, face) < OVERLAP)) faces.push(face);
    }
    return faces;
  }

  #face(numbers: Float32Array, i: number, sure: number, scale: number): Face {
    const [middleX, middleY] = this.#middles[i]!;
    const [x, y, width, height] = numbers as unknown as [number, number, number, number];
    const points = Array.from({ length: POINTS }, (_, p) =>
      [
        (middleX + numbers[4 + 2 * p]!) * scale,
        (middleY + numbers[5 + 2 * p]!) * scale,
      ] as const);
    return {
      x: (middleX + x - width / 2) * scale,
      y: (middleY + y - height / 2) * scale,
      width: width * scale,
      height: height * scale,
      sure,
      points,
    };
  }
}

/** The part that two faces share of what they cover together. */
function overlap(a: Face, b: Face): number {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x, b.x);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y, b.y);
  const shared = Math.max(0, width) * Math.max(0, height);
  return shared / (a.width * a.height + b.width * b.height - shared);
}
