/**
 * From times of both kernels on either side of a constant to its value.
 *
 * @module
 */

/** Times of work that has this value: by the kernel up to the constant, and by the one beyond it. */
export interface Point {
  readonly value: number;
  readonly below: number;
  readonly beyond: number;
}

/** A constant that loses less than this by staying as it is stays: times scatter by more. */
const WORTH_CHANGING = 0.02;

/** Mean part of the time that a constant loses to the better kernel of each point. */
export function lossOf(points: readonly Point[], constant: number): number {
  const losses = points.map(({ value, below, beyond }) =>
    (value <= constant ? below : beyond) / Math.min(below, beyond) - 1
  );
  return losses.reduce((sum, loss) => sum + loss, 0) / points.length;
}

/** The value between two points, with two digits that count. */
function between(low: number, high: number): number {
  const middle = Math.sqrt(low * high);
  const rounded = Number(middle.toPrecision(2));
  return rounded >= low && rounded < high ? rounded : low;
}

/** The constant that loses least, or the one in force where that hardly loses more. Points are in ascending order. */
export function fitThreshold(points: readonly Point[], inForce: number): number {
  const values = points.map(({ value }) => value);
  const candidates = values.map((value, i) =>
    i + 1 < values.length ? between(value, values[i + 1]!) : value
  );
  // Below the first point both are as good as it: half of it says that the kernel is never wanted there.
  candidates.unshift(Math.floor(values[0]! / 2));
  const best = candidates.reduce((a, b) => (lossOf(points, b) < lossOf(points, a) ? b : a));
  return lossOf(points, inForce) - lossOf(points, best) < WORTH_CHANGING ? inForce : best;
}

/** The module with a constant's value, and after its own line of comment what it is from. */
export function withThreshold(
  module: string,
  name: string,
  { value, source }: { readonly value: number; readonly source: string },
): string {
  const pattern = new RegExp(
    `(  /\\*\\*\\n?(?:   \\*)? ?)([^*]*?)(?:\\n   \\* Measured[^*]*?)?(?:\\n  )? ?\\*/\\n  ${name}: [0-9e]+,`,
  );
  const found = module.match(pattern);
  if (found === null) throw new RangeError(`Cannot find the constant ${name}`);
  const meaning = found[2]!.trim();
  return module.replace(
    pattern,
    () => `  /**\n   * ${meaning}\n   * Measured ${source}\n   */\n  ${name}: ${value},`,
  );
}
