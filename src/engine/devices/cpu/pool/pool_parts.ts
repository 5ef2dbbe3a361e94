/** Poolings divided for threads: images, or rows of results where there are few images. */
import { evenBlocks } from "../blocks.ts";
import type { Engine } from "../engine.ts";

/** The value of a window. */
export type PoolKind = "max" | "average";

/** The work of one thread: whole images, or some rows of one. */
export type PoolPart = Readonly<Record<"image" | "images" | "row" | "rows", number>>;

/** Divides images of so many rows of results, `work` floating point operations in all. */
export function cutRows(
  engine: Engine,
  { images, rows, work }: { readonly images: number; readonly rows: number; readonly work: number },
): PoolPart[] {
  const parts = engine.parts(work);
  if (images >= parts || images === 0) {
    return evenBlocks(images, Math.ceil(images / parts), 1).map(({ from, size }) => (
      { image: from, images: size, row: 0, rows }
    ));
  }
  return rowsOfEach(images, evenBlocks(rows, Math.ceil(rows * images / parts), 1));
}

/** Returns the same blocks of rows for each image. */
export function rowsOfEach(
  images: number,
  blocks: readonly { readonly from: number; readonly size: number }[],
): PoolPart[] {
  return Array.from(
    { length: images },
    (_, image) => blocks.map(({ from, size }) => ({ image, images: 1, row: from, rows: size })),
  ).flat();
}
