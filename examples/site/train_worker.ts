/** Trains the network, step by step; between two steps it listens to the page. */

import * as tf from "@weft/weft";
import { type Digits, loadDigits, pick, PIXELS } from "./digits.ts";
import { EditableBody, type Images } from "./editable_body.ts";
import type { Backend, Learnt, TrainMessage, TrainRequest, WorkerScope } from "./messages.ts";
import { buildNetwork, type Network } from "./network.ts";
import { errorText } from "./shown.ts";

const scope = globalThis as unknown as WorkerScope<TrainRequest, TrainMessage>;

const BATCH = 64;

/** Test images that are looked at each time, and how many images are seen in between. */
const TESTED = 1000, TEST_EVERY = 5000;

/** Milliseconds between messages to the page. */
const TELL_EVERY = 100;

/** It rests here: more of it would warm the room and no longer teach. */
const ENOUGH = 100_000;

/** The learning rate falls from the first to the second until it rests. */
const RATES = [4e-3, 1e-4] as const;

/** The page's next requests. */
const wishes: { paused: boolean; drawing: Uint8Array<ArrayBuffer> | null; wake: () => void } = {
  paused: false,
  drawing: null,
  wake: () => {},
};

const body = new EditableBody((error) => scope.postMessage({ kind: "body", error }));
let examples: Digits | null = null;

/** Calls the function, and tells the page of it, which ends the worker of one that does not return. */
function callTold(images: tf.NdArray): Images {
  scope.postMessage({ kind: "calling" });
  try {
    return body.call(images);
  } finally {
    scope.postMessage({ kind: "called" });
  }
}

/** Lets messages in: awaiting what has happened already would not. */
const channel = new MessageChannel();
function turn(): Promise<void> {
  return new Promise((resolve) => {
    channel.port1.onmessage = () => resolve();
    channel.port2.postMessage(null);
  });
}

/** Endless batches; each pass over the images is in another order. */
function* batches(digits: Digits): Generator<{ images: tf.NdArray; labels: tf.NdArray }> {
  const order = Uint32Array.from({ length: digits.count }, (_, i) => i);
  for (;;) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    for (let at = 0; at + BATCH <= order.length; at += BATCH) {
      yield pick(digits, order.subarray(at, at + BATCH));
    }
  }
}

/** Trains for as long as the page is there. */
class Training {
  readonly #session: tf.Session;
  readonly #backend: Backend;
  readonly #network: Network;
  readonly #optimizer: tf.Optimizer;
  readonly #test: Digits;
  readonly #batches: ReturnType<typeof batches>;
  #losses: number[] = [];
  #images = 0;
  #nextTest = TEST_EVERY / 4;
  #accuracy: number | null = null;
  #sample: Uint8Array<ArrayBuffer> | null = null;
  #told = performance.now();
  /** Values of all variables when they were last measured: what a lost GPU goes on from. */
  #saved: Learnt | null = null;
  /** Of the steps alone: images, and milliseconds. */
  #pace = { images: 0, time: 0 };

  constructor(
    network: Network,
    optimizer: tf.Optimizer,
    { data, backend }: { data: { train: Digits; test: Digits }; backend: Backend },
  ) {
    this.#backend = backend;
    this.#network = network;
    this.#optimizer = optimizer;
    this.#session = new tf.Session({ graph: network.graph });
    this.#batches = batches(data.train);
    this.#test = data.test;
  }

  /** Trains on from what was learnt before. */
  async run(from: Learnt | null): Promise<never> {
    await this.#session.run(this.#network.initializer);
    if (from !== null) await this.#restore(from);
    await this.#save();
    for (;;) {
      try {
        if (wishes.drawing !== null) await this.#classify();
        else if (wishes.paused) await new Promise<void>((resolve) => wishes.wake = resolve);
        else await this.#step();
      } catch (error) {
        if (!(error instanceof tf.errors.UnavailableError)) throw error;
        await this.#resume();
      }
      await turn();
    }
  }

  async #save(): Promise<void> {
    const bytes = await tf.io.serializeVariables(this.#state);
    this.#saved = { bytes, images: this.#images };
    scope.postMessage({ kind: "saved", learnt: this.#saved });
  }

  async #restore({ bytes, images }: Learnt): Promise<void> {
    await tf.io.restoreVariables(this.#state, bytes);
    this.#images = images;
  }

  get #state(): tf.io.Variables {
    return { variables: this.#network.variables, optimizer: this.#optimizer };
  }

  /** Goes on with a GPU's successor, or on the CPU, from what was saved last. */
  async #resume(): Promise<void> {
    const backend = await tf.setBackend(this.#backend) ? this.#backend : "cpu";
    await tf.setBackend(backend);
    await this.#restore(this.#saved!);
    scope.postMessage({ kind: "resumed", backend, images: this.#images });
  }

  async #step(): Promise<void> {
    const { images, labels, loss, step, prepared } = this.#network;
    const batch = this.#batches.next().value as { images: tf.NdArray; labels: tf.NdArray };
    const done = Math.min(1, this.#images / ENOUGH);
    this.#optimizer.learningRate = RATES[0] * (RATES[1] / RATES[0]) ** done;
    const feeds = new Map([[images, batch.images], [labels, batch.labels]]);
    const start = performance.now();
    const [value, pixels] = await this.#session.run([loss, prepared, step], { feeds }) as [
      number,
      tf.NdArray,
      null,
    ];
    this.#pace.images += BATCH;
    this.#pace.time += performance.now() - start;
    this.#images += BATCH;
    this.#losses.push(Number(value));
    this.#sample = Uint8Array.from((pixels.data as Uint8Array).subarray(0, PIXELS));
    if (this.#images >= this.#nextTest) await this.#measure();
    const isEnough = this.#images % ENOUGH < BATCH;
    if (performance.now() - this.#told >= TELL_EVERY || isEnough) this.#report();
    if (isEnough) {
      wishes.paused = true;
      scope.postMessage({ kind: "paused" });
    }
  }

  async #measure(): Promise<void> {
    this.#nextTest = this.#images + TEST_EVERY;
    const { images, labels, hits } = this.#network;
    const batch = pick(this.#test, Array.from({ length: TESTED }, (_, i) => i));
    const feeds = new Map([[images, batch.images], [labels, batch.labels]]);
    this.#accuracy = Number(await this.#session.run(hits, { feeds })) / TESTED;
    await this.#save();
  }

  #report(): void {
    this.#told = performance.now();
    const { images, time } = this.#pace;
    scope.postMessage({
      kind: "progress",
      losses: this.#losses,
      images: this.#images,
      imagesPerSecond: images / time * 1000,
      accuracy: this.#accuracy,
      sample: this.#sample,
    });
    this.#losses = [];
    this.#accuracy = this.#sample = null;
    // The last seconds count most.
    if (time > 2000) this.#pace = { images: images / 2, time: time / 2 };
  }

  async #classify(): Promise<void> {
    const { images, probabilities, prepared } = this.#network;
    const drawing = new tf.NdArray("uint8", [1, 28, 28], wishes.drawing!);
    wishes.drawing = null;
    const [sure, pixels] = await this.#session.run([probabilities, prepared], {
      feeds: new Map([[images, drawing]]),
    }) as [tf.NdArray, tf.NdArray];
    scope.postMessage({
      kind: "digit",
      probabilities: Array.from(sure.data as Float32Array),
      seen: Uint8Array.from(pixels.data as Uint8Array),
    });
  }
}

async function start(wanted: Backend, text: string, from: Learnt | null): Promise<void> {
  const backend = await tf.setBackend(wanted) ? wanted : "cpu";
  await tf.setBackend(backend);
  const data = await loadDigits();
  examples = data.test;
  await body.use(text);
  const optimizer = tf.train.adam(RATES[0]);
  const network = buildNetwork(callTold, optimizer);
  scope.postMessage({ kind: "started", backend, svg: network.svg });
  await new Training(network, optimizer, { data, backend }).run(from);
}

scope.onmessage = ({ data }) => {
  switch (data.kind) {
    case "start":
      start(data.backend, data.body, data.from).catch((error) => {
        scope.postMessage({ kind: "lost", error: errorText(error) });
      });
      break;
    case "body":
      void body.use(data.body);
      break;
    case "pause":
      wishes.paused = data.paused;
      break;
    case "classify":
      wishes.drawing = data.pixels;
      break;
    case "example":
      if (examples !== null) {
        const { images } = pick(examples, [Math.floor(Math.random() * examples.count)]);
        scope.postMessage({ kind: "example", pixels: Uint8Array.from(images.data as Uint8Array) });
      }
  }
  wishes.wake();
};
