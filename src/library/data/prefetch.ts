/**
 * prefetch: elements computed ahead of their use.
 */
import {
  checkCount,
  type Elements,
  type Item,
  looked,
  makeSource,
  Queue,
  sameAs,
  type Source,
  type State,
} from "./source.ts";

type PrefetchState = { readonly ready: readonly Item[]; readonly input: State };

/** A pass that keeps some elements ready. */
export class Ahead implements Elements {
  readonly #input: Queue;
  readonly #size: number;
  readonly #waiting: Promise<Item>[];

  /** Keeps `size` ready beside the one that is asked for; goes on from a state. */
  constructor(
    size: number,
    open: (state?: State) => Elements,
    state?: PrefetchState,
  ) {
    this.#size = size;
    this.#input = new Queue(open(state?.input));
    this.#waiting = (state?.ready ?? []).map((item) => Promise.resolve(item));
  }

  /** Begins to compute what is to be ready. */
  start(): void {
    while (this.#waiting.length < this.#size) this.#waiting.push(looked(this.#input.next()));
  }

  async next(): Promise<Item> {
    while (this.#waiting.length <= this.#size) this.#waiting.push(looked(this.#input.next()));
    return await this.#waiting.shift()!;
  }

  /** The one that is given next, once it is ready. */
  first(): Promise<Item> {
    this.start();
    return this.#waiting[0];
  }

  async save(): Promise<PrefetchState> {
    return { ready: await Promise.all(this.#waiting), input: await this.#input.save() };
  }

  close(): void {
    looked(this.#input.close());
  }
}

/** Elements computed ahead of their use. */
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
