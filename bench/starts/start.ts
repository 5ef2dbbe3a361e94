/** Cold starts of one system. */
export interface Starts {
  readonly what: string;
  /** Milliseconds of each. */
  readonly times: number[];
  /** KiB (brotli) that a page loads before its first result. */
  readonly kib?: number;
}

/** The middle of the times. */
export function median(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1]!;
}
