/** StepStates: the state of each step of a run, and the queue of ready steps. */
import type { PlanStep } from "./plan.ts";

const WAITING = 0, QUEUED = 1, STARTED = 2, DONE = 3;

/** States of the steps of one run. README.md draws the transitions. */
export class StepStates {
  readonly #steps: readonly PlanStep[];
  /** A list: each typed array has memory of its own, which takes longer than the step of a small plan. */
  readonly #states: number[];
  /** Steps that became ready by the end of another step, in order. */
  #queue: number[] | null = null;
  #left: number;
  #started = 0;

  constructor(steps: readonly PlanStep[]) {
    this.#steps = steps;
    this.#states = new Array<number>(steps.length).fill(WAITING);
    this.#left = steps.length;
  }

  /** Number of steps that are not done. */
  get left(): number {
    return this.#left;
  }
  /** Number of pending steps. */
  get started(): number {
    return this.#started;
  }

  /** True for a step that has been neither queued nor started. */
  isWaiting(index: number): boolean {
    return this.#states[index] === WAITING;
  }
  /** True for a step that has not been started. */
  isAhead(index: number): boolean {
    const state = this.#states[index];
    return state === WAITING || state === QUEUED;
  }
  isDone(index: number): boolean {
    return this.#states[index] === DONE;
  }
  /** True without pending steps, and where as many steps are done as come before this one. */
  isFront(index: number): boolean {
    return this.#started === 0 && this.#left === this.#steps.length - index;
  }
  /** True where all steps that must run before are done. */
  isReady({ after }: PlanStep): boolean {
    for (let i = 0; i < after.length; i++) if (this.#states[after[i]] !== DONE) return false;
    return true;
  }

  /** Returns a queued step to the waiting ones; the next sweep finds it. */
  wait({ index }: PlanStep): void {
    this.#states[index] = WAITING;
  }
  /** Marks a step as started; one that waited at the boundary was already counted. */
  start({ index }: PlanStep): void {
    if (this.#states[index] !== STARTED) this.#started++;
    this.#states[index] = STARTED;
  }
  /** Marks a started step as done. */
  finish({ index }: PlanStep): void {
    this.#states[index] = DONE;
    this.#started--;
    this.#left--;
  }
  /** Marks a row of steps as done that were not started. */
  finishRow(start: number, count: number): void {
    this.#states.fill(DONE, start, start + count);
    this.#left -= count;
  }

  /** Queues a step that became ready. */
  queue(index: number): void {
    this.#states[index] = QUEUED;
    const queue = this.#queue ??= [];
    let at = queue.length;
    while (at > 0 && queue[at - 1] > index) at--;
    queue.splice(at, 0, index);
  }
  /** Removes the first step from the queue and returns it. */
  next(): number | undefined {
    return this.#queue?.shift();
  }
  /** Empties the queue, before a sweep. */
  clearQueue(): void {
    this.#queue = null;
  }
}
