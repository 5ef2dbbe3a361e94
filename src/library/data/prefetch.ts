/** prefetch: elements computed ahead of their use. */
import {
  checkCount,
  type Elements,
  ignoreRejection,
  type Item,
  makeSource,
  Queue,
  sameAs,
  type Source,
  type State,
} from "./source.ts";

type PrefetchState = { readonly ready: readonly Item[]; readonly input: State };

/** A pass that computes elements ahead. */
export class Ahead implements Elements {
  readonly #input: Queue;
  readonly #size: number;
  readonly #waiting: Promise<Item>[];

  /** Creates a pass that keeps `size` elements ready beside the requested one; resumes from a state. */
  constructor(
    size: number,
    open: (state?: State) => Elements,
    state?: PrefetchState,
  ) {
    this.#size = size;
    this.#input = new Queue(open(state?.input));
    this.#waiting = (state?.ready ?? []).map((item) => Promise.resolve(item));
  }

  /** Begins to compute elements ahead. */
  start(): void {
    while (this.#waiting.length < this.#size) {
      this.#waiting.push(ignoreRejection(this.#input.next()));
    }
  }

  async next(): Promise<Item> {
    while (this.#waiting.length <= this.#size) {
      this.#waiting.push(ignoreRejection(this.#input.next()));
    }
    return await this.#waiting.shift()!;
  }

  /** Resolves with the next element, without taking it. */
  first(): Promise<Item> {
    this.start();
    return this.#waiting[0];
  }

  async save(): Promise<PrefetchState> {
    return { ready: await Promise.all(this.#waiting), input: await this.#input.save() };
  }

  close(): void {
    ignoreRejection(this.#input.close());
  }
}

/** Computes up to `bufferSize` elements ahead of their use. */
export function prefetchSource(input: Source, bufferSize: number): Source {
  const n = checkCount(bufferSize, "bufferSize", -1) === -1 ? 2 : bufferSize;
  return makeSource({
    kind: "Prefetch",
    ...sameAs(input),
    settings: { stage: "Prefetch", count: bufferSize },
    open: (place, state?: PrefetchState) =>
      new Ahead(n, (inner) => input.open(place, inner), state),
  });
}
