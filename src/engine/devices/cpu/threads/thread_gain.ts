/**
 * The gain of threads, and their rests: a busy processor may hold a thread's call for milliseconds, while the calling
 * thread waits.
 */

/** Milliseconds of jobs after which the gain is evaluated. */
const WINDOW = 20;
/** Shares of that time: threads that save less rest, those that save more have done well. */
const LITTLE = 0.2, MUCH = 0.4;
/** Milliseconds of loss that cause an immediate evaluation. */
const MOST_LOST = 2;
/**
 * Length of a rest, in milliseconds of work as fast as before: of the first, and of the longest where each is followed
 * by another.
 */
const FIRST_REST = 20, LONGEST_REST = 500;
/** The resolution of coarse clocks. */
const COARSE = 0.1;

/** A finished job of threads. Times are in milliseconds. */
export interface ThreadJob {
  readonly took: number;
  /** Threads that could take part, including the calling one. */
  readonly threads: number;
  readonly calls: number;
  /** Durations of the calling thread's own calls. */
  readonly own: number[];
}

/** Accounts for the gain of threads. Rests are measured in work, whatever time passes between jobs. */
export class ThreadGain {
  #work = 0;
  #took = 0;
  #saved = 0;
  #rest = FIRST_REST;
  #restWork = 0;

  /** True while threads would slow the work down. Counts the given work. */
  rests(operations: number): boolean {
    const rests = this.#restWork > 0;
    if (rests) this.#restWork -= operations;
    else this.#work += operations;
    return rests;
  }

  /** Accounts for a job by an estimate of its time in the calling thread alone, from that thread's own calls. */
  add({ took, threads, calls, own }: ThreadJob): void {
    if (own.length === 0) return;
    this.#took += took;
    this.#saved += Math.min(threads * took, calls * usual(own)) - took;
    if (this.#took < WINDOW && this.#saved > -MOST_LOST) return;
    // Half is remembered: after a good time, one long wait means little.
    let kept = 0.5;
    if (this.#saved >= MUCH * this.#took) this.#rest = FIRST_REST;
    else if (this.#saved < LITTLE * this.#took) {
      kept = 0;
      this.#restWork = this.#rest * this.#work / this.#took;
      this.#rest = Math.min(LONGEST_REST, 2 * this.#rest);
    }
    this.#work *= kept;
    this.#took *= kept;
    this.#saved *= kept;
  }
}

/** Returns the mean of times without the few long ones, in which the thread itself was suspended. */
function usual(times: number[]): number {
  const most = COARSE + 2 * times.sort((a, b) => a - b)[times.length >> 1];
  let sum = 0;
  for (const t of times) sum += Math.min(t, most);
  return sum / times.length;
}
