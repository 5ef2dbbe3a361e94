/** Division of lengths into parts, and rounding of bytes to cache lines. */

/** Parts of a length: as many as needed, of even size. */
export function evenBlocks(
  length: number,
  most: number,
  multiple: number,
): { from: number; size: number }[] {
  const count = Math.max(1, Math.ceil(length / most));
  const size = Math.ceil(length / count / multiple) * multiple;
  const blocks = [];
  for (let from = 0; from < length; from += size) {
    blocks.push({ from, size: Math.min(size, length - from) });
  }
  return blocks;
}

/** Rounds up to whole cache lines. */
export function roundUp(bytes: number): number {
  return Math.ceil(bytes / 64) * 64;
}
