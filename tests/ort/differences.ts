/** The places where what a program tells differs from what it should tell. */

type Told = Record<string, unknown>;

/** Largest difference of numbers, relative to those above 1. */
const MOST = 1e-3;

/** Places where a told value differs from the wanted one: at most five. */
export function differences(
  got: unknown,
  want: unknown,
  path: string,
  most: number = MOST,
): string[] {
  if (typeof want === "number" && typeof got === "number") {
    return Math.abs(got - want) <= most * Math.max(1, Math.abs(want))
      ? []
      : [`${path}: ${got}, wanted ${want}`];
  }
  if (typeof want !== "object" || want === null || typeof got !== "object" || got === null) {
    return got === want ? [] : [`${path}: ${got}, wanted ${want}`];
  }
  const keys = new Set([...Object.keys(want), ...Object.keys(got)]);
  return [...keys].flatMap((key) =>
    differences((got as Told)[key], (want as Told)[key], `${path}/${key}`, most)
  ).slice(0, 5);
}
