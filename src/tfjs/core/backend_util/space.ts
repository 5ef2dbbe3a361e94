/** Shapes of blocks moved between space and batch, and the centre of a rotation. */

/** Returns the shape in which blocks are axes of their own. */
export function getReshaped(
  inputShape: readonly number[],
  blockShape: readonly number[],
  prod: number,
  batchToSpace = true,
): number[] {
  const [batch, ...rest] = inputShape, n = blockShape.length;
  if (batchToSpace) return [...blockShape, batch / prod, ...rest];
  return [
    batch,
    ...blockShape.flatMap((block, i) => [rest[i] / block, block]),
    ...rest.slice(n),
  ];
}
/** Returns the order of axes that puts blocks beside their space, or first. */
export function getPermuted(
  reshapedRank: number,
  blockShapeRank: number,
  batchToSpace = true,
): number[] {
  const n = blockShapeRank;
  if (batchToSpace) {
    const out = [n];
    for (let axis = n + 1; axis < reshapedRank; axis++) {
      out.push(axis);
      if (axis <= 2 * n) out.push(axis - (n + 1));
    }
    return out;
  }
  const axes = Array.from({ length: reshapedRank - 1 }, (_, i) => i + 1);
  const isBlock = (axis: number) => axis <= 2 * n && axis % 2 === 0;
  return [...axes.filter(isBlock), 0, ...axes.filter((axis) => !isBlock(axis))];
}
/** Returns the shape in which blocks are merged into space, or into the batch. */
export function getReshapedPermuted(
  inputShape: readonly number[],
  blockShape: readonly number[],
  prod: number,
  batchToSpace = true,
): number[] {
  const [batch, ...rest] = inputShape;
  return [
    batchToSpace ? batch / prod : batch * prod,
    ...rest.map((extent, i) => {
      const block = blockShape[i] ?? 1;
      return batchToSpace ? extent * block : extent / block;
    }),
  ];
}
/** Returns the begin of the crop along each axis. */
export function getSliceBeginCoords(
  crops: readonly (readonly number[])[],
  blockShape: number,
): number[] {
  return [0, ...crops.slice(0, blockShape).map(([before]) => before)];
}
/** Returns the size of the crop along each axis. */
export function getSliceSize(
  uncroppedShape: readonly number[],
  crops: readonly (readonly number[])[],
  blockShape: number,
): number[] {
  return uncroppedShape.slice(0, blockShape + 1).map((extent, axis) =>
    axis === 0 ? extent : extent - crops[axis - 1][0] - crops[axis - 1][1]
  );
}
/** Converts a centre from parts of the image to pixels. */
export function getImageCenter(
  center: number | readonly [number, number],
  imageHeight: number,
  imageWidth: number,
): [number, number] {
  const [x, y] = typeof center === "number" ? [center, center] : center;
  return [imageWidth * x, imageHeight * y];
}
