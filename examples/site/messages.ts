/** What the pages and their workers say to each other. */

/** A device by the name that `tf.setBackend` takes. */
export type Backend = "webgpu" | "cpu";

/** Asks the program worker to run a program. */
export interface ProgramRequest {
  /** A module's text. */
  readonly code: string;
  /** Where it shall run. */
  readonly backend: Backend;
}

/** A picture with what it is of. */
export interface Picture {
  /** A line. */
  readonly title: string;
  /** The picture. */
  readonly svg: string;
  /** The same as text. */
  readonly text: string;
}

/** Counts of a run, as `tf.profile` gives them. */
export interface Counts {
  readonly dispatches: number;
  readonly readbacks: number;
  readonly hostCalls: number;
}

/** What the program worker tells. */
export type ProgramMessage =
  | { readonly kind: "log"; readonly level: "log" | "warn" | "error"; readonly text: string }
  | {
    readonly kind: "done";
    readonly ok: boolean;
    readonly milliseconds: number;
    readonly backend: Backend;
    readonly counts: Counts | null;
    readonly graphs: readonly Picture[];
    readonly plans: readonly Picture[];
  };

/** Asks the training worker for something. */
export type TrainRequest =
  | { readonly kind: "start"; readonly backend: Backend; readonly body: string }
  | { readonly kind: "body"; readonly body: string }
  | { readonly kind: "pause"; readonly paused: boolean }
  | { readonly kind: "example" }
  | { readonly kind: "classify"; readonly pixels: Uint8Array<ArrayBuffer> };

/** What the training worker tells. */
export type TrainMessage =
  | { readonly kind: "started"; readonly backend: Backend; readonly svg: string }
  | {
    readonly kind: "progress";
    /** Losses of the steps since the last message. */
    readonly losses: readonly number[];
    readonly images: number;
    readonly imagesPerSecond: number;
    /** Share of the test images that are recognised, where it was measured anew. */
    readonly accuracy: number | null;
    /** An image as the body left it: 28 × 28 bytes. */
    readonly sample: Uint8Array<ArrayBuffer> | null;
  }
  /** Whether the last text is in use, or what was wrong with it. */
  | { readonly kind: "body"; readonly error: string | null }
  | { readonly kind: "paused" }
  | { readonly kind: "example"; readonly pixels: Uint8Array<ArrayBuffer> }
  | {
    readonly kind: "digit";
    readonly probabilities: readonly number[];
    readonly seen: Uint8Array<ArrayBuffer>;
  }
  | { readonly kind: "lost"; readonly error: string };

/** The little of a worker's global scope that ours use. The types of pages and of workers cannot be had together. */
export interface WorkerScope<Received, Sent> {
  onmessage: ((event: MessageEvent<Received>) => void) | null;
  postMessage(message: Sent): void;
}
