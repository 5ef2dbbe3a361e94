/**
 * What threads save, and when they should rest: a processor that has other things to do keeps a call for milliseconds, while the
 * asking thread waits.
 */

/** Milliseconds of jobs after which what was saved is looked at. */
const WINDOW = 20;
/** Parts of that time: threads that save less rest, those that save more have done well. */
const LITTLE = 0.2, MUCH = 0.4;
/** Milliseconds lost that are enough to look at once. */
const MOST_LOST = 2;
/** Length of a rest, in milliseconds of work as fast as before: of the first, and of the longest where each is followed by another. */
const FIRST_REST = 20, LONGEST_REST = 500;
/** Some clocks do not tell shorter times from none. */
const COARSE = 0.1;

/** A job that threads have just done. Times are in milliseconds. */
export interface ThreadJob {
  readonly took: number;
  /** Threads that could take part, the asking one included. */
  readonly threads: number;
  readonly calls: number;
  /** How long those took that the asking thread made. */
  readonly own: number[];
}

/** Keeps account of what threads save. Rests are counted in work, so that they last as long however much time passes between jobs. */
export class ThreadGain {
  #work = 0;
  #took = 0;
  #saved = 0;
  #rest = FIRST_REST;
  #restWork = 0;

  /** True while threads would rather hinder than help. Counts the work that is asked about. */
  rests(operations: number): boolean {
    const rests = this.#restWork > 0;
    if (rests) this.#restWork -= operations;
    else this.#work += operations;
    return rests;
  }

  /** Accounts for a job by what it would have taken the asking thread alone, as that thread's own calls show it. */
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

/** The mean of times of which a few are long because the thread itself was kept waiting. */
function usual(times: number[]): number {
  const most = COARSE + 2 * times.sort((a, b) => a - b)[times.length >> 1];
  let sum = 0;
  for (const t of times) sum += Math.min(t, most);
  return sum / times.length;
}
