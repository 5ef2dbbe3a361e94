// What processes need of memory and of the processor, and whether it grows.

/** Growth over the time that is looked at, as a part of the mean, that is none. */
const MOST_GROWTH = 0.1;
/** Standard errors of a slope beyond which it is no chance. */
const ERRORS = 2;

/** MiB of a process, that the system has given it. */
export function memoryOf(pid: number): number {
  const status = Deno.readTextFileSync(`/proc/${pid}/status`);
  return Number(/VmRSS:\s*(\d+)/.exec(status)![1]) / 1024;
}

/** Milliseconds of the processor that a process has taken. */
export function processorOf(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  // The name of the program, in brackets, may hold spaces. Linux counts hundredths of a second.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return 10 * (Number(fields[11]) + Number(fields[12]));
}

/**
 * Growth of memory over the last two thirds of the samples, as a part of its mean there: of the straight line through them, and the
 * least that it is but for chance. The first third warms up. Engines collect, and allocators give back, when they choose: single
 * samples go up and down by half, and tell nothing of a trend, nor do the least of a few.
 */
export function growthOf(samples: readonly number[]): { readonly line: number; least: number } {
  const late = samples.slice(Math.floor(samples.length / 3)), n = late.length;
  const mean = late.reduce((sum, y) => sum + y, 0) / n, middle = (n - 1) / 2;
  let xx = 0, xy = 0;
  late.forEach((y, i) => {
    xx += (i - middle) ** 2;
    xy += (i - middle) * (y - mean);
  });
  const slope = xy / xx;
  const rests = late.reduce((sum, y, i) => sum + (y - mean - slope * (i - middle)) ** 2, 0);
  const error = Math.sqrt(rests / (n - 2) / xx), length = (n - 1) / mean;
  return { line: slope * length, least: (slope - ERRORS * error) * length };
}

/** Says whether memory does not grow, see {@linkcode growthOf}. */
export function isFlat(samples: readonly number[]): boolean {
  return growthOf(samples).least <= MOST_GROWTH;
}
